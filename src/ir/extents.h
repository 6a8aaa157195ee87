// Computes the extents of dimensions from those of other dimensions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/kernel.h"

namespace fact::ir {

inline constexpr std::int64_t kUnknownExtent = -1;

// Fills in the unknown entries of `extents` (by dimension id): constants, factored dimensions from
// their factors, and a factor from its dimension and the other factors. Returns a sentence about a
// contradiction, or "".
std::string solve_extents(const Kernel& kernel, std::vector<std::int64_t>& extents);

// Which extents can be computed if those of the dimensions marked in `known` are known.
std::vector<bool> known_dims(const Kernel& kernel, std::vector<bool> known);

}  // namespace fact::ir
