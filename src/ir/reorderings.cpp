#include "ir/reorderings.h"

#include <algorithm>

namespace fact::ir {

ExprId behind_reorderings(const Kernel& kernel, ExprId id) {
    while (!kernel[id].stored) {
        if (const auto* permute = std::get_if<Permute>(&kernel[id].node))
            id = permute->x;
        else if (const auto* view = std::get_if<View>(&kernel[id].node))
            id = view->x;
        else
            break;
    }
    return id;
}

bool is_renaming(const Kernel& kernel, ExprId id) {
    const auto* view = std::get_if<View>(&kernel[id].node);
    return view && is_renaming(kernel, kernel[view->x].type.dims, kernel[id].type.dims);
}

bool is_renaming(const Kernel& kernel, const std::vector<DimId>& from,
                 const std::vector<DimId>& to) {
    return std::equal(from.begin(), from.end(), to.begin(), to.end(),
                      [&](DimId a, DimId b) { return kernel.same_factors({a}, {b}); });
}

Kernel share_reorderings(const Kernel& kernel) {
    Kernel shared = kernel;
    std::vector<ExprId> first(kernel.exprs.size());  // the one of equal expressions to use
    for (std::size_t i = 0; i < shared.exprs.size(); ++i) {
        Expr& expr = shared.exprs[i];
        for_each_operand(expr.node, [&](ExprId& x) { x = first[index(x)]; });
        first[i] = static_cast<ExprId>(i);
        if (!std::holds_alternative<Permute>(expr.node) && !std::holds_alternative<View>(expr.node))
            continue;
        for (std::size_t j = 0; j < i; ++j)
            if (const Expr& other = shared.exprs[j];
                other.node == expr.node && other.type == expr.type && other.stored == expr.stored) {
                first[i] = first[j];
                break;
            }
    }
    for (Output& output : shared.outputs) output.value = first[index(output.value)];
    drop_dead(shared);
    return shared;
}

}  // namespace fact::ir
