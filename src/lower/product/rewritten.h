// A kernel written anew, expression by expression.
#pragma once

#include <utility>
#include <vector>

#include "ir/kernel.h"

namespace fact::lower {

// The kernel with every value replaced by what `rewrite(to, build, i, expr)` adds for it to the new
// kernel `to`: it gets the value's number, and the value itself with operands that are rewritten
// already.
template <class Rewrite>
ir::Kernel rewritten(const ir::Kernel& kernel, Rewrite rewrite) {
    ir::Kernel to = kernel;
    to.exprs.clear();
    ir::Builder build(to);
    std::vector<ir::ExprId> copies;
    for (std::size_t i = 0; i < kernel.exprs.size(); ++i) {
        ir::Expr expr = kernel.exprs[i];
        ir::for_each_operand(expr.node, [&](ir::ExprId& x) { x = copies[ir::index(x)]; });
        copies.push_back(rewrite(to, build, i, std::move(expr)));
    }
    for (ir::Output& output : to.outputs) output.value = copies[ir::index(output.value)];
    return to;
}

}  // namespace fact::lower
