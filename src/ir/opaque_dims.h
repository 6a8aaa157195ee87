// Makes factored dimensions such as H*W plain ones if their factors are not needed separately.
#pragma once

#include "ir/kernel.h"

namespace fact::ir {

// For one stage of a cut kernel. If the extents of its parameters and outputs give H*W but not H
// and W, then H*W becomes one plain dimension, also inside longer ones such as B*H*W. So does a
// dimension that shares a factor with another one of the same value ([8*D, 8]), unless a view
// splits it: afterwards no factor occurs twice in a value. And so do places of windows that the
// stage has only joined with others.
void make_opaque(Kernel& kernel);

// Whether a factor occurs twice among the dimensions, or in one of them.
bool repeats_factors(const Kernel& kernel, const std::vector<DimId>& dims);

}  // namespace fact::ir
