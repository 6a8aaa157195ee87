#include "ir/needed.h"

namespace fact::ir {

std::vector<bool> needed_for(const Kernel& kernel, const std::vector<ExprId>& roots,
                             const std::function<bool(ExprId)>& is_available) {
    std::vector<bool> needed(kernel.exprs.size());
    for (const ExprId root : roots) needed[index(root)] = true;
    // Operands precede their users.
    for (std::size_t i = kernel.exprs.size(); i-- > 0;)
        if (needed[i] && !is_available(static_cast<ExprId>(i)))
            for_each_operand(kernel.exprs[i].node, [&](ExprId x) { needed[index(x)] = true; });
    return needed;
}

}  // namespace fact::ir
