// Brings what is computed from a product's result before the views that mix its rows and columns.
#pragma once

#include "ir/kernel.h"

namespace fact::lower {

// The same kernel, in which pointwise operators on a product's result come before the reorderings
// that make dimensions of both rows and columns (P = I*A), and before what these cut off: then the
// product's kernel can compute them, and store its result where it belongs (scattered_output.h).
// Operands that have only some factors of the rows are stored repeated along the others. A kernel
// without such a result stays as it is.
ir::Kernel pointwise_first(const ir::Kernel& kernel);

}  // namespace fact::lower
