// Dimensions such as H*W whose factors nobody needs one by one.
#pragma once

#include "ir/kernel.h"

namespace fact::ir {

// For a part of a kernel. A dimension H*W whose factors cannot be computed one by one from the
// extents of parameters and outputs becomes a dimension without factors, wherever it stands. So
// does one that shares a factor with another dimension of the same value ([8*D, 8]), unless a view
// needs its factors: no value then has a factor twice.
void make_opaque(Kernel& kernel);

// Whether a value has a factor twice, in two dimensions or in one.
bool repeats_factors(const Kernel& kernel, const std::vector<DimId>& dims);

}  // namespace fact::ir
