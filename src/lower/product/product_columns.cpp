// Columns of a product whose dimension is factored, and flips of a factor: column_part() and
// flipped_param() of product_form.h.
#include <algorithm>

#include "ir/reorderings.h"
#include "lower/product/product_form.h"

namespace fact::lower {

std::optional<std::uint32_t> flipped_param(const ir::Kernel& kernel, ir::ExprId id) {
    const auto* flip = std::get_if<ir::Flip>(&kernel[id].node);
    if (!flip) return std::nullopt;
    const ir::ExprId leaf = ir::behind_reorderings(kernel, flip->x);
    const auto* param = std::get_if<ir::Param>(&kernel[leaf].node);
    return param ? std::optional(param->index) : std::nullopt;
}

std::optional<ColumnPart> column_part(const ir::Kernel& kernel, ir::DimId n, ir::DimId part) {
    const auto all = kernel.factors({n}), own = kernel.factors({part});
    const auto begin = std::search(all.begin(), all.end(), own.begin(), own.end());
    if (begin == all.end()) return std::nullopt;
    const auto end = begin + std::ssize(own);
    ColumnPart found;
    for (auto dim = end; dim != all.end(); ++dim) {
        if (!kernel[*dim].extent) return std::nullopt;
        found.inner *= *kernel[*dim].extent;
    }
    if (begin == all.begin()) return found;
    found.extent = 1;
    for (auto dim = begin; dim != end; ++dim) {
        if (!kernel[*dim].extent) return std::nullopt;
        found.extent *= *kernel[*dim].extent;
    }
    return found;
}

}  // namespace fact::lower
