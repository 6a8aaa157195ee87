// A kernel as a list of its expressions, for tests and debugging.
#pragma once

#include <string>

#include "ir/kernel.h"

namespace fact::ir {

// One line per expression: number, name, node, operands, type; then the outputs.
//   %3 acc = product %0 %2 : f32[M, N]
std::string dump(const Kernel& kernel);

}  // namespace fact::ir
