// What an expression is computed from.
#pragma once

#include <functional>
#include <vector>

#include "ir/kernel.h"

namespace fact::ir {

// Which expressions the roots need, the roots included. The operands of an expression that
// `is_available` are not needed on its account.
std::vector<bool> needed_for(const Kernel& kernel, const std::vector<ExprId>& roots,
                             const std::function<bool(ExprId)>& is_available);

}  // namespace fact::ir
