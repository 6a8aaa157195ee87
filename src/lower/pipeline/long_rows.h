// Reductions over more elements than one thread block should read.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/kernel.h"

namespace fact::lower {

// What becomes of long rows along which something is computed from the reduction: with clusters of
// thread blocks, which hold such a row in registers, they stay whole if they fit and are not few.
enum class LongRows { in_parts, in_clusters };

// The same kernel with long reductions in two steps: over parts of the row, whose results are
// stored, then over the parts. A deviation from a mean and a sum of exponentials below a maximum
// are found in the same pass as the mean and the maximum, from those of each part. `extents` (by
// dimension, ir::kUnknownExtent where not known) become constants of dimensions that are split.
// With a product, and where windows are, dimensions stay whole.
ir::Kernel split_long_rows(const ir::Kernel& kernel, const std::vector<std::int64_t>& extents,
                           LongRows rows = LongRows::in_parts);

}  // namespace fact::lower
