// Pointwise kernels over rows too long to be held: their rows are taken apart.
#pragma once

#include <optional>

#include "lower/rows/lower.h"
#include "lower/rows/rows_form.h"

namespace fact::lower {

// The same kernel with its last dimension a product, whose second factor is short enough for a row.
// Nothing where something is reduced, the rows are short as they are, or no factor suits.
std::optional<ir::Kernel> in_chunks(const ir::Kernel& kernel, const RowsForm& form,
                                    const RowsFacts& facts);

}  // namespace fact::lower
