#include "match/formulas/numbering.h"

#include <algorithm>
#include <utility>

namespace fact::match {

using ir::BinaryOp;
using ir::ExprId;

ExprId Numbering::first(ExprId id) {
    while (first_.size() <= ir::index(id)) add_next();
    return static_cast<ExprId>(first_[ir::index(id)]);
}

bool Numbering::says_nothing(const ir::Node& node, ExprId& behind) const {
    if (apart_ != Apart::rounding) return false;
    const auto floating = [&](ExprId id) { return info(kernel_[id].type.dtype).floating; };
    if (const auto* permute = std::get_if<ir::Permute>(&node)) {
        behind = permute->x;
        return true;
    }
    const auto* cast = std::get_if<ir::Cast>(&node);
    if (!cast || !floating(cast->x)) return false;
    behind = cast->x;
    return floating(static_cast<ExprId>(first_.size()));
}

void Numbering::add_next() {
    const auto next = static_cast<std::uint32_t>(first_.size());
    const ir::Expr& expr = kernel_.exprs[next];
    ir::Node node = expr.node;
    ir::NodeShape shape = ir::shape_of(node, first_);
    ir::for_each_operand(node, [&](ExprId& x) { x = static_cast<ExprId>(first_[ir::index(x)]); });
    auto* binary = std::get_if<ir::Binary>(&node);
    if (binary && apart_ == Apart::order &&
        (binary->op == BinaryOp::add || binary->op == BinaryOp::mul)) {
        std::ranges::sort(shape.operands);
        if (ir::index(binary->b) < ir::index(binary->a)) std::swap(binary->a, binary->b);
    }
    auto& alike = known_[std::move(shape)];
    const auto equal = std::ranges::find_if(alike, [&](std::uint32_t other) {
        return nodes_[other] == node && kernel_.exprs[other].type == expr.type;
    });
    ExprId behind{};
    if (says_nothing(node, behind))
        first_.push_back(ir::index(behind));
    else
        first_.push_back(equal == alike.end() ? next : *equal);
    if (equal == alike.end()) alike.push_back(next);
    nodes_.push_back(std::move(node));
}

}  // namespace fact::match
