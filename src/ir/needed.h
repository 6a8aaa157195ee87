// What an expression is computed from.
#pragma once

#include <functional>
#include <vector>

#include "ir/kernel.h"

namespace fact::ir {

// Which expressions the roots need, themselves included. What `given` holds of is there already: it
// may be needed, but nothing is on its account.
std::vector<bool> needed_for(const Kernel& kernel, const std::vector<ExprId>& roots,
                             const std::function<bool(ExprId)>& given);

}  // namespace fact::ir
