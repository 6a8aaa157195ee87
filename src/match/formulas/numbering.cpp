#include "match/formulas/numbering.h"

#include <algorithm>
#include <utility>

namespace fact::match {

using ir::BinaryOp;
using ir::ExprId;

ExprId Numbering::representative(ExprId id) {
    while (representatives_.size() <= ir::index(id)) add_next();
    return static_cast<ExprId>(representatives_[ir::index(id)]);
}

bool Numbering::is_ignored(const ir::Node& node, ExprId& source) const {
    if (ignored_ != Ignored::rounding) return false;
    const auto floating = [&](ExprId id) { return info(kernel_[id].type.dtype).floating; };
    if (const auto* permute = std::get_if<ir::Permute>(&node)) {
        source = permute->x;
        return true;
    }
    const auto* cast = std::get_if<ir::Cast>(&node);
    if (!cast || !floating(cast->x)) return false;
    source = cast->x;
    const auto current = static_cast<ExprId>(representatives_.size());  // the one being added
    return floating(current);
}

void Numbering::add_next() {
    const auto next = static_cast<std::uint32_t>(representatives_.size());
    const ir::Expr& expr = kernel_.exprs[next];
    ir::Node node = expr.node;
    ir::NodeShape shape = ir::shape_of(node, representatives_);
    ir::for_each_operand(
        node, [&](ExprId& x) { x = static_cast<ExprId>(representatives_[ir::index(x)]); });
    auto* binary = std::get_if<ir::Binary>(&node);
    if (binary && ignored_ == Ignored::order &&
        (binary->op == BinaryOp::add || binary->op == BinaryOp::mul)) {
        std::ranges::sort(shape.operands);
        if (ir::index(binary->b) < ir::index(binary->a)) std::swap(binary->a, binary->b);
    }
    auto& alike = distinct_[std::move(shape)];
    const auto equal = std::ranges::find_if(alike, [&](std::uint32_t other) {
        return nodes_[other] == node && kernel_.exprs[other].type == expr.type;
    });
    ExprId source{};
    if (is_ignored(node, source))
        representatives_.push_back(ir::index(source));
    else
        representatives_.push_back(equal == alike.end() ? next : *equal);
    if (equal == alike.end()) alike.push_back(next);
    nodes_.push_back(std::move(node));
}

}  // namespace fact::match
