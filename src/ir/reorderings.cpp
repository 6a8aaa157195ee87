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
    if (!view) return false;
    const auto &from = kernel[view->x].type.dims, &to = kernel[id].type.dims;
    return std::equal(from.begin(), from.end(), to.begin(), to.end(),
                      [&](DimId a, DimId b) { return kernel.factors({a}) == kernel.factors({b}); });
}

}  // namespace fact::ir
