// The extents of a kernel's dimensions, as far as some of them tell the others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/kernel.h"

namespace fact::ir {

inline constexpr std::int64_t kUnknownExtent = -1;

// Fills in what follows from `extents` (by dimension id): constants, products from their factors,
// and a factor from its product and the others. A sentence on what contradicts, or "".
std::string solve_extents(const Kernel& kernel, std::vector<std::int64_t>& extents);

// Which dimensions are known once those of `given` are.
std::vector<bool> known_dims(const Kernel& kernel, std::vector<bool> given);

}  // namespace fact::ir
