#include "lower/product/row_sums.h"

namespace fact::lower {

namespace {

// The parameter behind a widening to f32, which loses nothing.
std::optional<std::uint32_t> widened_param(const ir::Kernel& kernel, ir::ExprId id) {
    const auto* cast = std::get_if<ir::Cast>(&kernel[id].node);
    const ir::ExprId x = cast && kernel[id].type.dtype == DType::f32 ? cast->x : id;
    const auto* param = std::get_if<ir::Param>(&kernel[x].node);
    return param ? std::optional(param->index) : std::nullopt;
}

}  // namespace

std::optional<RowSum> row_sum(const ir::Kernel& kernel, ir::ExprId id) {
    const auto* reduce = std::get_if<ir::Reduce>(&kernel[id].node);
    if (!reduce || reduce->op != ir::ReduceOp::sum || reduce->over.size() != 1) return std::nullopt;
    if (const auto param = widened_param(kernel, reduce->x))
        return RowSum{id, *param, reduce->over.front(), false};
    const auto* times = std::get_if<ir::Binary>(&kernel[reduce->x].node);
    if (!times || times->op != ir::BinaryOp::mul) return std::nullopt;
    const auto a = widened_param(kernel, times->a), b = widened_param(kernel, times->b);
    if (!a || a != b) return std::nullopt;
    return RowSum{id, *a, reduce->over.front(), true};
}

std::set<ir::ExprId> same_for_a_row(const ir::Kernel& kernel,
                                    const std::vector<ir::ExprId>& epilogue) {
    std::set<ir::ExprId> found;
    for (const ir::ExprId id : epilogue) {
        const ir::Node& node = kernel[id].node;
        bool same = row_sum(kernel, id) || std::holds_alternative<ir::Literal>(node) ||
                    std::holds_alternative<ir::Extent>(node);
        if (!same && info(kernel[id].type.dtype).floating &&
            !std::holds_alternative<ir::Index>(node)) {
            same = true;
            ir::for_each_operand(node, [&](ir::ExprId x) { same = same && found.contains(x); });
        }
        if (same) found.insert(id);
    }
    return found;
}

}  // namespace fact::lower
