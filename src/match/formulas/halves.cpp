#include "match/formulas/halves.h"

#include <algorithm>
#include <map>
#include <optional>

#include "match/formulas/numbering.h"

namespace fact::match {

using ir::BinaryOp;
using ir::ExprId;
using ir::Kernel;
using ir::UnaryOp;

namespace {

class Joiner {
  public:
    Joiner(Kernel& kernel, ir::DimId dim)
        : kernel_(kernel), build_(kernel), dim_(dim), numbering_(kernel, Ignored::order) {}

    // `a` at the first place, `b` at the second. Common factors are multiplied in at the end, so
    // that a select has to choose only between what differs.
    ExprId join(ExprId a, ExprId b) {
        struct Factor {
            ExprId x;
            bool is_left;
        };
        std::vector<Factor> common;
        std::optional<ExprId> joined;
        while (!(joined = join_without_choice(a, b))) {
            const auto x = product(a), y = product(b);
            if (x && y && same(x->a, y->a)) {
                common.push_back({x->a, true});
                a = x->b, b = y->b;
            } else if (x && y && same(x->b, y->b)) {
                common.push_back({x->b, false});
                a = x->a, b = y->a;
            } else {
                joined = build_.select(at_first_place(), a, b);
                break;
            }
        }
        for (; !common.empty(); common.pop_back()) {
            const auto [x, is_left] = common.back();
            joined = is_left ? build_.binary(BinaryOp::mul, x, *joined)
                             : build_.binary(BinaryOp::mul, *joined, x);
        }
        return *joined;
    }

  private:
    std::optional<ExprId> operand(UnaryOp op, ExprId id) const {
        const auto* unary = std::get_if<ir::Unary>(&kernel_[id].node);
        return unary && unary->op == op ? std::optional(unary->x) : std::nullopt;
    }

    bool same(ExprId a, ExprId b) { return numbering_.same(a, b); }

    // Returned by value because building expressions reallocates those of the kernel.
    std::optional<ir::Binary> product(ExprId id) const {
        const auto* binary = std::get_if<ir::Binary>(&kernel_[id].node);
        return binary && binary->op == BinaryOp::mul ? std::optional(*binary) : std::nullopt;
    }

    // Equal expressions, negated ones and sums of the same terms need no select.
    std::optional<ExprId> join_without_choice(ExprId a, ExprId b) {
        if (same(a, b)) return a;
        if (const auto negated = operand(UnaryOp::neg, a); negated && same(*negated, b))
            return build_.binary(BinaryOp::mul, b, sign(-1));
        if (const auto negated = operand(UnaryOp::neg, b); negated && same(a, *negated))
            return build_.binary(BinaryOp::mul, a, sign(1));
        const auto* x = std::get_if<ir::Binary>(&kernel_[a].node);
        const auto* y = std::get_if<ir::Binary>(&kernel_[b].node);
        return x && y ? join_sums(*x, *y) : std::nullopt;
    }

    std::optional<ExprId> join_sums(ir::Binary x, ir::Binary y) {
        const auto is_sum = [](BinaryOp op) { return op == BinaryOp::add || op == BinaryOp::sub; };
        if (!is_sum(x.op) || !is_sum(y.op)) return std::nullopt;
        if (y.op == BinaryOp::add && !same(x.a, y.a)) std::swap(y.a, y.b);
        if (x.op == BinaryOp::add && !same(x.a, y.a)) std::swap(x.a, x.b);
        if (!same(x.a, y.a) || !same(x.b, y.b)) return std::nullopt;
        const ExprId b =
            x.op == y.op ? x.b : multiply_by_sign(x.b, sign(x.op == BinaryOp::sub ? -1 : 1));
        return build_.binary(x.op == y.op ? x.op : BinaryOp::add, x.a, b);
    }

    // In a product with a flipped factor, that factor gets the sign.
    ExprId multiply_by_sign(ExprId id, ExprId sign) {
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

    ExprId at_first_place() {
        const ExprId index = build_.index(dim_), zero = build_.literal(0, DType::i32);
        return build_.binary(BinaryOp::eq, index, zero);
    }

    // `first`, which is 1 or -1, at the first place, and its negative at the second.
    ExprId sign(double first) {
        const ExprId condition = at_first_place();
        const ExprId here = build_.literal(first), there = build_.literal(-first);
        return build_.select(condition, here, there);
    }

    Kernel& kernel_;
    ir::Builder build_;
    ir::DimId dim_;
    Numbering numbering_;
};

}  // namespace

ExprId join_halves(Kernel& kernel, ExprId first, ExprId second, ir::DimId dim) {
    return Joiner(kernel, dim).join(first, second);
}

std::vector<std::string> rotary_factors(const Kernel& kernel) {
    // How far an expression has been rotated. A sum of something flipped and something else is the
    // finished rotation: its factors are neither sine nor cosine.
    enum class State { plain, flipped, finished };
    std::vector<State> state(kernel.exprs.size(), State::plain);
    // The parameter that an expression is, apart from views, casts and permutes.
    std::vector<std::optional<std::uint32_t>> param(kernel.exprs.size());
    std::vector<std::string> names(kernel.params.size());
    // Expressions that are flipped later: their factors, such as a norm's weight, do not count.
    std::vector<bool> rotated(kernel.exprs.size());
    for (std::size_t i = kernel.exprs.size(); i-- > 0;)
        if (rotated[i] || std::holds_alternative<ir::Flip>(kernel.exprs[i].node))
            ir::for_each_operand(kernel.exprs[i].node,
                                 [&](ExprId x) { rotated[ir::index(x)] = true; });
    for (std::size_t i = 0; i < kernel.exprs.size(); ++i) {
        const ir::Node& node = kernel.exprs[i].node;
        ir::for_each_operand(node,
                             [&](ExprId x) { state[i] = std::max(state[i], state[ir::index(x)]); });
        if (std::holds_alternative<ir::Flip>(node)) state[i] = State::flipped;
        if (const auto* load = std::get_if<ir::Param>(&node)) param[i] = load->index;
        if (const auto* view = std::get_if<ir::View>(&node)) param[i] = param[ir::index(view->x)];
        if (const auto* cast = std::get_if<ir::Cast>(&node)) param[i] = param[ir::index(cast->x)];
        if (const auto* permute = std::get_if<ir::Permute>(&node))
            param[i] = param[ir::index(permute->x)];
        const auto* binary = std::get_if<ir::Binary>(&node);
        if (binary && binary->op != BinaryOp::mul && state[i] == State::flipped)
            state[i] = State::finished;
        if (!binary || binary->op != BinaryOp::mul || rotated[i]) continue;
        for (const auto& [x, other] : {std::pair(binary->a, binary->b), {binary->b, binary->a}})
            if (const auto factor = param[ir::index(x)];
                factor && state[ir::index(other)] != State::finished)
                names[*factor] = state[ir::index(other)] == State::flipped ? "sine" : "cosine";
    }
    return names;
}

void merge_equal(Kernel& kernel) {
    std::vector<std::uint32_t> replacement(kernel.exprs.size());  // of each expression
    std::map<ir::NodeShape, std::vector<std::uint32_t>> by_shape;
    for (std::uint32_t i = 0; i < kernel.exprs.size(); ++i) {
        ir::Expr& expr = kernel.exprs[i];
        auto& alike = by_shape[ir::shape_of(expr.node, replacement)];
        ir::for_each_operand(
            expr.node, [&](ExprId& id) { id = static_cast<ExprId>(replacement[ir::index(id)]); });
        const auto equal = std::ranges::find_if(alike, [&](std::uint32_t other) {
            return kernel.exprs[other].node == expr.node && kernel.exprs[other].type == expr.type;
        });
        replacement[i] = equal == alike.end() ? i : *equal;
        if (replacement[i] == i && !expr.stored) alike.push_back(i);
        if (ir::Expr& kept = kernel.exprs[replacement[i]]; kept.name.empty()) kept.name = expr.name;
    }
    for (ir::Output& output : kernel.outputs)
        output.value = static_cast<ExprId>(replacement[ir::index(output.value)]);
}

}  // namespace fact::match
