// Computes the extents of dimensions from those of other dimensions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/kernel.h"

namespace fact::ir {

inline constexpr std::int64_t kUnknownExtent = -1;

// Fills in the unknown entries of `extents` (by dimension id): constants, factored dimensions from
// their factors, a factor from its dimension and the other factors, and places of windows. Returns
// a sentence about a contradiction, or "".
std::string solve_extents(const Kernel& kernel, std::vector<std::int64_t>& extents);

// The extent of a dimension that is a number, a product of numbers, or another name of one.
std::optional<std::int64_t> constant_extent(const Kernel& kernel, DimId dim);

// The same, or else what `extents` (by dimension id) knows of it.
std::optional<std::int64_t> known_extent(const Kernel& kernel, DimId dim,
                                         const std::vector<std::int64_t>& extents);

// How many windows there are if dimension `of` of the rule has this extent; 0 if none fits.
std::int64_t num_windows(const Kernel& kernel, const WindowRule& rule, std::int64_t extent);

// Which extents can be computed if those of the dimensions marked in `known` are known.
std::vector<bool> known_dims(const Kernel& kernel, std::vector<bool> known);

}  // namespace fact::ir
