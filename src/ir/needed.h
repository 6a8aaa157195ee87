// What an expression is computed from.
#pragma once

#include <functional>
#include <vector>

#include "ir/kernel.h"

namespace fact::ir {

// Which expressions the roots need, the roots included. An expression that `is_available`
// does not need its operands.
std::vector<bool> needed_for(const Kernel& kernel, const std::vector<ExprId>& roots,
                             const std::function<bool(ExprId)>& is_available);

}  // namespace fact::ir
