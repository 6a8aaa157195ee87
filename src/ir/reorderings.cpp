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

}  // namespace fact::ir
