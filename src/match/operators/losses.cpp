#include "match/operators/losses.h"

#include "dsl/composite_call.h"
#include "graph/arguments.h"
#include "graph/operators.h"

namespace fact::match {

using ir::BinaryOp;
using ir::ExprId;
using ir::UnaryOp;

namespace {

using T = Translation;

bool is_reduced(T& t, ExprId losses) {
    return !t.kernel[losses].type.dims.empty() &&
           t.number("reduction", kReducedToMean) != kNotReduced;
}

std::vector<ExprId> reduced(T& t, ExprId losses) {
    if (!is_reduced(t, losses)) return {losses};
    const auto over = t.kernel[losses].type.dims;
    if (t.number("reduction", kReducedToMean) == kReducedToSum)
        return {t.build.reduce(ir::ReduceOp::sum, losses, over)};
    return {dsl::call_composite(t.kernel, "mean", {{"x", losses}}, over)};
}

ExprId difference(T& t, ExprId x) {
    return t.combine(BinaryOp::sub, x, t.operand("target"));
}
ExprId times(T& t, ExprId x, double factor) {
    return t.build.binary(BinaryOp::mul, x, t.build.literal(factor));
}
ExprId plus(T& t, ExprId x, double term) {
    return t.build.binary(BinaryOp::add, x, t.build.literal(term));
}

// Quadratic where the difference is less than `limit`, linear from there on with this slope.
ExprId rounded_corner(T& t, ExprId difference, double limit, double slope) {
    const ExprId size = t.build.unary(UnaryOp::abs, difference);
    const ExprId square = t.build.binary(BinaryOp::mul, difference, difference);
    const ExprId near = times(t, square, 0.5 * slope / limit);
    const ExprId far = times(t, plus(t, size, -0.5 * limit), slope);
    const ExprId border = t.build.literal(limit);
    return t.build.select(t.build.binary(BinaryOp::lt, size, border), near, far);
}

// The norm of the difference of two vectors.
ExprId distance(T& t, ExprId a, ExprId b, const std::vector<ir::DimId>& over) {
    const ExprId away = plus(t, t.combine(BinaryOp::sub, a, b), t.number("eps", 1e-6));
    const bool squares = t.number("p", 2) == 2;
    if (over.empty() || !squares) {
        const ExprId size = t.build.unary(UnaryOp::abs, away);
        return over.empty() ? size : t.build.reduce(ir::ReduceOp::sum, size, over);
    }
    const ExprId square = t.build.binary(BinaryOp::mul, away, away);
    return t.build.unary(UnaryOp::sqrt, t.build.reduce(ir::ReduceOp::sum, square, over));
}

}  // namespace

bool is_loss_of_each(const graph::Node& node) {
    return graph::facts_of(node).kind == graph::OperatorKind::loss &&
           graph::int_argument(node, "reduction").value_or(kReducedToMean) == kNotReduced;
}

std::vector<ExprId> mse_loss(T& t, ExprId x, const LossDims&) {
    const ExprId away = difference(t, x);
    return reduced(t, t.build.binary(BinaryOp::mul, away, away));
}

std::vector<ExprId> l1_loss(T& t, ExprId x, const LossDims&) {
    return reduced(t, t.build.unary(UnaryOp::abs, difference(t, x)));
}

std::vector<ExprId> smooth_l1_loss(T& t, ExprId x, const LossDims& dims) {
    const double beta = t.number("beta", 1);
    if (beta == 0) return l1_loss(t, x, dims);
    return reduced(t, rounded_corner(t, difference(t, x), beta, 1));
}

std::vector<ExprId> huber_loss(T& t, ExprId x, const LossDims&) {
    const double delta = t.number("delta", 1);
    return reduced(t, rounded_corner(t, difference(t, x), delta, delta));
}

std::vector<ExprId> kl_div(T& t, ExprId x, const LossDims&) {
    const ExprId target = t.operand("target");
    if (t.number("log_target", 0) != 0) {
        const ExprId share = t.build.unary(UnaryOp::exp, target);
        return reduced(t, t.combine(BinaryOp::mul, share, t.combine(BinaryOp::sub, target, x)));
    }
    const ExprId zero = t.build.literal(0), logarithm = t.build.unary(UnaryOp::log, target);
    const ExprId is_zero = t.build.binary(BinaryOp::eq, target, zero);
    const ExprId product = t.build.binary(BinaryOp::mul, target, logarithm);
    const ExprId entropy = t.build.select(is_zero, zero, product);
    return reduced(t, t.combine(BinaryOp::sub, entropy, t.combine(BinaryOp::mul, target, x)));
}

std::vector<ExprId> bce_with_logits(T& t, ExprId x, const LossDims&) {
    const ExprId target = t.operand("target");
    const ExprId one = t.build.literal(1), zero = t.build.literal(0);
    const ExprId rest = t.build.binary(BinaryOp::sub, one, target);
    const ExprId linear = t.combine(BinaryOp::mul, rest, x);
    const ExprId size = t.build.unary(UnaryOp::abs, x);
    const ExprId below = t.build.unary(UnaryOp::exp, t.build.unary(UnaryOp::neg, size));
    const ExprId corner = t.build.unary(UnaryOp::log1p, below);
    const ExprId opposite = t.build.unary(UnaryOp::neg, x);
    const ExprId positive = t.build.binary(BinaryOp::max, opposite, zero);
    const ExprId softened = t.build.binary(BinaryOp::add, corner, positive);
    return reduced(t, t.combine(BinaryOp::add, linear, softened));
}

std::vector<ExprId> pairwise_distance(T& t, ExprId x, const LossDims& dims) {
    return {distance(t, x, t.operand("x2"), dims[1])};
}

std::vector<ExprId> triplet_margin_loss(T& t, ExprId x, const LossDims& dims) {
    const ExprId positive = t.operand("positive"), negative = t.operand("negative");
    const ExprId near = distance(t, x, positive, dims[1]);
    ExprId far = distance(t, x, negative, dims[1]);
    if (t.number("swap", 0) != 0)
        far = t.combine(BinaryOp::min, far, distance(t, positive, negative, dims[1]));
    const ExprId excess = plus(t, t.combine(BinaryOp::sub, near, far), t.number("margin", 1));
    const ExprId losses = t.build.binary(BinaryOp::max, excess, t.build.literal(0));
    return reduced(t, is_reduced(t, losses) ? t.stored(losses) : losses);
}

std::string unsupported_loss(const graph::Graph& graph, const graph::Node& node) {
    const graph::OperatorFacts facts = graph::facts_of(node);
    if (facts.along == graph::Along::vectors) {
        const double order = graph::number_argument(node, "p").value_or(2);
        if (order != 1 && order != 2) return "distances are computed in the norms 1 and 2 only";
        const auto tensors = graph::tensor_inputs(node);
        for (const graph::ValueId value : tensors)
            if (graph[value].type->sizes != graph[tensors.front()].type->sizes)
                return "its tensors have different shapes";
        if (graph[tensors.front()].type->sizes.empty()) return "its tensors are single numbers";
    }
    if (facts.kind != graph::OperatorKind::loss) return "";
    for (const auto* name : {"weight", "pos_weight"})
        if (graph::tensor_argument(node, name)) return "its losses are weighted";
    return "";
}

}  // namespace fact::match
