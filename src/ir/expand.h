// Attention in terms of products, reductions and pointwise functions.
#pragma once

#include <functional>

#include "ir/kernel.h"

namespace fact::ir {

// The kernel with every Attention written out, but those that `keep` (by id) says a kernel exists
// for.
Kernel expand_attention(const Kernel& kernel, const std::function<bool(ExprId)>& keep = {});

}  // namespace fact::ir
