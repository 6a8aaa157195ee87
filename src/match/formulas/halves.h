// Joins the expressions of two halves of a value, and merges equal expressions of a kernel.
#pragma once

#include <string>
#include <vector>

#include "ir/kernel.h"

namespace fact::match {

// `first` at place 0 of `dim`, which has two places, and `second` at place 1. Common subexpressions
// are used once; where the halves differ only in sign, one expression is multiplied by a sign that
// depends on the place.
ir::ExprId join_halves(ir::Kernel& kernel, ir::ExprId first, ir::ExprId second, ir::DimId dim);

// For each parameter, its name as a factor of a rotation: "sine" if it multiplies something
// flipped, "cosine" if it multiplies something else; "" if it is no such factor.
std::vector<std::string> rotary_factors(const ir::Kernel& kernel);

// Replaces every use of an expression by the first equal one; nothing reads the others any more.
void merge_equal(ir::Kernel& kernel);

}  // namespace fact::match
