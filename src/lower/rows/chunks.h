// Pointwise kernels whose last dimension is too long for one row of vector_rows.cuh: it is split.
#pragma once

#include <optional>

#include "lower/rows/lower.h"
#include "lower/rows/rows_form.h"

namespace fact::lower {

// The same kernel with its last dimension split into outer * inner, inner short enough for a row.
// nullopt if the kernel has a reduction or flips that dimension, if no divisor of its length makes
// a suitable row, or if it is short enough unsplit and not the only dimension.
std::optional<ir::Kernel> in_chunks(const ir::Kernel& kernel, const RowsForm& form,
                                    const RowsFacts& facts);

}  // namespace fact::lower
