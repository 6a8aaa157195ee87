// Attention in terms of products, reductions and pointwise functions.
#pragma once

#include <functional>

#include "ir/kernel.h"

namespace fact::ir {

// Expands every Attention except those for which `keep` returns true (a skeleton computes them).
Kernel expand_attention(const Kernel& kernel, const std::function<bool(ExprId)>& keep = {});

}  // namespace fact::ir
