// Keeps what is computed from a product in the product's own order.
#pragma once

#include "ir/kernel.h"

namespace fact::lower {

// The same kernel, with permutes after pointwise operators and reductions, which work on dimensions
// by name whatever their order: a value that is kept in memory between them then has the order in
// which the stage before it computes, and no kernel only reorders it. A kernel without a product
// stays as it is.
ir::Kernel permutes_last(const ir::Kernel& kernel);

}  // namespace fact::lower
