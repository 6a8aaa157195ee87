#include "match/join.h"

#include <algorithm>
#include <optional>

namespace fact::match {

using ir::BinaryOp;
using ir::ExprId;
using ir::Kernel;
using ir::UnaryOp;

namespace {

// Whether both compute the same.
bool same(const Kernel& kernel, ExprId a, ExprId b) {
    if (a == b) return true;
    if (kernel[a].type != kernel[b].type) return false;
    ir::Node x = kernel[a].node, y = kernel[b].node;
    if (x.index() != y.index()) return false;
    std::vector<ExprId> xs, ys;
    ir::for_each_operand(x, [&](ExprId& id) { xs.push_back(id), id = {}; });
    ir::for_each_operand(y, [&](ExprId& id) { ys.push_back(id), id = {}; });
    if (x != y || xs.size() != ys.size()) return false;
    const auto* binary = std::get_if<ir::Binary>(&x);
    if (binary && (binary->op == BinaryOp::add || binary->op == BinaryOp::mul) &&
        same(kernel, xs[0], ys[1]) && same(kernel, xs[1], ys[0]))
        return true;
    return std::ranges::equal(xs, ys, [&](ExprId p, ExprId q) { return same(kernel, p, q); });
}

class Joiner {
  public:
    Joiner(Kernel& kernel, ir::DimId dim) : kernel_(kernel), build_(kernel), dim_(dim) {}

    ExprId join(ExprId a, ExprId b) {
        if (same(kernel_, a, b)) return a;
        if (const auto negated = operand(UnaryOp::neg, a); negated && same(kernel_, *negated, b))
            return build_.binary(BinaryOp::mul, b, sign(-1));
        if (const auto negated = operand(UnaryOp::neg, b); negated && same(kernel_, a, *negated))
            return build_.binary(BinaryOp::mul, a, sign(1));
        const auto x = std::get_if<ir::Binary>(&kernel_[a].node);
        const auto y = std::get_if<ir::Binary>(&kernel_[b].node);
        if (x && y)
            if (const auto both = join_binary(*x, *y)) return *both;
        return build_.select(first(), a, b);
    }

  private:
    std::optional<ExprId> operand(UnaryOp op, ExprId id) const {
        const auto* unary = std::get_if<ir::Unary>(&kernel_[id].node);
        return unary && unary->op == op ? std::optional(unary->x) : std::nullopt;
    }

    // By value: building expressions moves the kernel's.
    std::optional<ExprId> join_binary(ir::Binary x, ir::Binary y) {
        const auto sums = [](BinaryOp op) { return op == BinaryOp::add || op == BinaryOp::sub; };
        if (sums(x.op) && sums(y.op)) {
            if (y.op == BinaryOp::add && !same(kernel_, x.a, y.a)) std::swap(y.a, y.b);
            if (x.op == BinaryOp::add && !same(kernel_, x.a, y.a)) std::swap(x.a, x.b);
            if (!same(kernel_, x.a, y.a) || !same(kernel_, x.b, y.b)) return std::nullopt;
            const ExprId b =
                x.op == y.op ? x.b : signed_by(x.b, sign(x.op == BinaryOp::sub ? -1 : 1));
            return build_.binary(x.op == y.op ? x.op : BinaryOp::add, x.a, b);
        }
        if (x.op != BinaryOp::mul || y.op != BinaryOp::mul) return std::nullopt;
        if (same(kernel_, x.a, y.a)) return build_.binary(BinaryOp::mul, x.a, join(x.b, y.b));
        if (same(kernel_, x.b, y.b)) return build_.binary(BinaryOp::mul, join(x.a, y.a), x.b);
        return std::nullopt;
    }

    // The sign goes to what is flipped, where that is a factor.
    ExprId signed_by(ExprId id, ExprId sign) {
        if (const auto* binary = std::get_if<ir::Binary>(&kernel_[id].node);
            binary && binary->op == BinaryOp::mul) {
            const auto [op, a, b] = *binary;
            if (std::holds_alternative<ir::Flip>(kernel_[a].node))
                return build_.binary(BinaryOp::mul, build_.binary(BinaryOp::mul, a, sign), b);
            if (std::holds_alternative<ir::Flip>(kernel_[b].node))
                return build_.binary(BinaryOp::mul, a, build_.binary(BinaryOp::mul, b, sign));
        }
        return build_.binary(BinaryOp::mul, id, sign);
    }

    ExprId first() {
        const ExprId index = build_.index(dim_), zero = build_.literal(0, DType::i32);
        return build_.binary(BinaryOp::eq, index, zero);
    }

    ExprId sign(double at_first) {
        const ExprId condition = first();
        const ExprId one = build_.literal(at_first), other = build_.literal(-at_first);
        return build_.select(condition, one, other);
    }

    Kernel& kernel_;
    ir::Builder build_;
    ir::DimId dim_;
};

}  // namespace

ExprId joined(Kernel& kernel, ExprId first, ExprId second, ir::DimId dim) {
    return Joiner(kernel, dim).join(first, second);
}

std::vector<std::string> rotary_factors(const Kernel& kernel) {
    // Sums of what is flipped and what is not are no single factor any more.
    enum class Is { plain, flipped, sum };
    std::vector<Is> is(kernel.exprs.size(), Is::plain);
    std::vector<std::optional<std::uint32_t>> param(kernel.exprs.size());
    std::vector<std::string> names(kernel.params.size());
    // What is rotated may have factors of its own, such as a norm's weight.
    std::vector<bool> rotated(kernel.exprs.size());
    for (std::size_t i = kernel.exprs.size(); i-- > 0;)
        if (rotated[i] || std::holds_alternative<ir::Flip>(kernel.exprs[i].node))
            ir::for_each_operand(kernel.exprs[i].node,
                                 [&](ExprId x) { rotated[ir::index(x)] = true; });
    for (std::size_t i = 0; i < kernel.exprs.size(); ++i) {
        const ir::Node& node = kernel.exprs[i].node;
        ir::for_each_operand(node, [&](ExprId x) { is[i] = std::max(is[i], is[ir::index(x)]); });
        if (std::holds_alternative<ir::Flip>(node)) is[i] = Is::flipped;
        if (const auto* own = std::get_if<ir::Param>(&node)) param[i] = own->index;
        if (const auto* view = std::get_if<ir::View>(&node)) param[i] = param[ir::index(view->x)];
        if (const auto* cast = std::get_if<ir::Cast>(&node)) param[i] = param[ir::index(cast->x)];
        if (const auto* same = std::get_if<ir::Permute>(&node))
            param[i] = param[ir::index(same->x)];
        const auto* binary = std::get_if<ir::Binary>(&node);
        if (binary && binary->op != BinaryOp::mul && is[i] == Is::flipped) is[i] = Is::sum;
        if (!binary || binary->op != BinaryOp::mul || rotated[i]) continue;
        for (const auto& [x, other] : {std::pair(binary->a, binary->b), {binary->b, binary->a}})
            if (const auto own = param[ir::index(x)]; own && is[ir::index(other)] != Is::sum)
                names[*own] = is[ir::index(other)] == Is::flipped ? "sine" : "cosine";
    }
    return names;
}

void merge_equal(Kernel& kernel) {
    std::vector<ExprId> moved(kernel.exprs.size());
    for (std::size_t i = 0; i < kernel.exprs.size(); ++i) {
        ir::Expr& expr = kernel.exprs[i];
        ir::for_each_operand(expr.node, [&](ExprId& id) { id = moved[ir::index(id)]; });
        const auto known = std::find_if(
            kernel.exprs.begin(), kernel.exprs.begin() + static_cast<std::ptrdiff_t>(i),
            [&](const ir::Expr& other) {
                return other.node == expr.node && other.type == expr.type && !other.stored;
            });
        moved[i] = static_cast<ExprId>(known - kernel.exprs.begin());
        if (known->name.empty()) known->name = expr.name;
    }
    for (ir::Output& output : kernel.outputs) output.value = moved[ir::index(output.value)];
}

}  // namespace fact::match
