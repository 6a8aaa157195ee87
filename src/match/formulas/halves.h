// Two halves of a value written as one, and kernels that say nothing twice.
#pragma once

#include <string>
#include <vector>

#include "ir/kernel.h"

namespace fact::match {

// `first` where the coordinate along `dim`, of two elements, is 0, else `second`: what they have in
// common is written once, and what differs by its sign is multiplied by that.
ir::ExprId joined(ir::Kernel& kernel, ir::ExprId first, ir::ExprId second, ir::DimId dim);

// What each parameter is called as a factor of a rotation: "sine" of what multiplies something
// flipped, "cosine" of what multiplies the rest; "" for the others.
std::vector<std::string> rotary_factors(const ir::Kernel& kernel);

// Expressions that are the same become one; the others' places are no longer read.
void merge_equal(ir::Kernel& kernel);

}  // namespace fact::match
