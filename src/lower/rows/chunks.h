// Pointwise kernels whose last dimension is longer than a thread block's share of memory in
// vector_rows.cuh should be: it is split.
#pragma once

#include <optional>

#include "lower/rows/lower.h"
#include "lower/rows/rows_form.h"

namespace fact::lower {

// The same kernel with its last dimension split into outer * inner, inner being at most 4 KB.
// nullopt if the kernel has a reduction or flips that dimension, if no divisor of its length makes
// a suitable row, or if it is short enough unsplit (longer if rows share a tensor) and not the only
// dimension.
std::optional<ir::Kernel> in_chunks(const ir::Kernel& kernel, const RowsForm& form,
                                    const RowsFacts& facts);

}  // namespace fact::lower
