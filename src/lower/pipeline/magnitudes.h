// How large a value's numbers can be, from what is known without reading them all.
#pragma once

#include <optional>

#include "ir/kernel.h"

namespace fact::lower {

// A value over `dim`, or over nothing, that no number of `x` exceeds by its absolute value, such as
// sqrt(n) * abs(gain) + abs(shift) for what a batch norm gives: no number of n is further than
// sqrt(n) standard deviations from their mean. It is added to the kernel, as few small operators,
// and holds for all extents. nullopt if nothing is known, or only what typical numbers are far
// below. An infinity or a NaN of `x` need not be in it.
std::optional<ir::ExprId> largest_magnitude(ir::Kernel& kernel, ir::ExprId x, ir::DimId dim);

}  // namespace fact::lower
