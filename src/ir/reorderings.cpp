#include "ir/reorderings.h"

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

}  // namespace fact::ir
