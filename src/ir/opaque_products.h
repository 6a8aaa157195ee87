// Products of dimensions that nothing takes apart.
#pragma once

#include "ir/kernel.h"

namespace fact::ir {

// For a part of a kernel, whose outputs are there when it runs as its parameters are.
// A product whose factors they do not tell one by one becomes a dimension without
// factors, in larger products too: its extent is all that is known of it. So does one that has a
// factor in common with another dimension of the same value ([8*D, 8]), where no view needs it
// apart: then every coordinate of a value is one of its factors'.
void make_opaque(Kernel& kernel);

// Whether a value has a factor twice, in two dimensions or in one.
bool repeats_factors(const Kernel& kernel, const std::vector<DimId>& dims);

}  // namespace fact::ir
