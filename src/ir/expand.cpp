#include "ir/expand.h"

#include <limits>
#include <map>
#include <utility>

namespace fact::ir {
namespace {

constexpr double kLowest = std::numeric_limits<float>::lowest();
constexpr double kTiny = 1e-30;  // replaces a sum of 0; a row that sees anything sums to at least 1

ExprId scores_of(Kernel& kernel, const Attention& node) {
    Builder b(kernel);
    const DimId m = kernel[node.q].type.dims.end()[-2], n = kernel[node.k].type.dims.end()[-2];
    ExprId scores = b.product(node.q, b.transpose(node.k), node.precision);
    scores = b.binary(BinaryOp::mul, scores, b.literal(node.scale));
    if (node.cap) {
        const ExprId share = b.binary(BinaryOp::mul, scores, b.literal(1 / *node.cap));
        scores = b.binary(BinaryOp::mul, b.unary(UnaryOp::tanh, share), b.literal(*node.cap));
    }
    if (node.bias) scores = b.binary(BinaryOp::add, scores, *node.bias);
    // Operands are in variables: compilers differ in the order in which they evaluate arguments,
    // and that would be the order of the expressions.
    const auto hide_unless = [&](BinaryOp op, ExprId x, ExprId y) {
        const ExprId hidden = b.literal(-std::numeric_limits<double>::infinity()),
                     is_seen = b.binary(op, x, y);
        scores = b.select(is_seen, scores, hidden);
    };
    if (node.causal) {
        const ExprId column = b.index(n), row = b.index(m);
        hide_unless(BinaryOp::ge, row, column);
    }
    if (node.window) {
        const ExprId column = b.index(n), row = b.index(m);
        const ExprId distance = b.binary(BinaryOp::sub, row, column);
        const ExprId window = b.literal(static_cast<double>(*node.window), DType::i32);
        hide_unless(BinaryOp::lt, node.causal ? distance : b.unary(UnaryOp::abs, distance), window);
    }
    return scores;
}

ExprId weighted_values(Kernel& kernel, const Attention& node, ExprId scores) {
    Builder b(kernel);
    const DimId n = kernel[scores].type.dims.back();
    ExprId top = b.reduce(ReduceOp::max, scores, {n});
    // If all scores are -inf, this avoids -inf - -inf = NaN, and the weights sum to 0.
    if (node.empty_rows_are_zero) top = b.binary(BinaryOp::max, top, b.literal(kLowest));
    const ExprId weights = b.unary(UnaryOp::exp, b.binary(BinaryOp::sub, scores, top));
    ExprId sum = b.reduce(ReduceOp::sum, weights, {n});
    if (node.empty_rows_are_zero) sum = b.binary(BinaryOp::max, sum, b.literal(kTiny));
    const ExprId shares = b.binary(BinaryOp::div, weights, sum);
    return b.product(b.cast(kernel[node.v].type.dtype, shares), node.v, node.precision);
}

ExprId log_sum(Kernel& kernel, ExprId scores) {
    Builder b(kernel);
    const DimId n = kernel[scores].type.dims.back();
    const ExprId largest = b.reduce(ReduceOp::max, scores, {n}), lowest = b.literal(kLowest);
    const ExprId top = b.binary(BinaryOp::max, largest, lowest);
    const ExprId weights = b.unary(UnaryOp::exp, b.binary(BinaryOp::sub, scores, top));
    const ExprId sum = b.reduce(ReduceOp::sum, weights, {n});
    return b.binary(BinaryOp::add, b.unary(UnaryOp::log, sum), top);
}

}  // namespace

Kernel expand_attention(const Kernel& kernel, const std::function<bool(ExprId)>& keep) {
    Kernel out = kernel;
    out.exprs.clear();
    std::vector<ExprId> moved(kernel.exprs.size());
    std::map<ExprId, ExprId> scores;  // in `out`, by the id of the expanded attention in `kernel`
    for (std::size_t i = 0; i < kernel.exprs.size(); ++i) {
        const auto id = static_cast<ExprId>(i);
        Expr expr = kernel.exprs[i];
        for_each_operand(expr.node, [&](ExprId& x) { x = moved[index(x)]; });
        const auto* attention = std::get_if<Attention>(&expr.node);
        const auto* log_sum_exp = std::get_if<LogSumExp>(&kernel.exprs[i].node);
        const std::size_t first = out.exprs.size();
        if (attention && !(keep && keep(id))) {
            scores[id] = scores_of(out, *attention);
            moved[i] = weighted_values(out, *attention, scores[id]);
        } else if (log_sum_exp && scores.contains(log_sum_exp->attention)) {
            moved[i] = log_sum(out, scores[log_sum_exp->attention]);
        } else {
            moved[i] = out.add(std::move(expr));
            continue;
        }
        for (std::size_t e = first; e < out.exprs.size(); ++e) out.exprs[e].span = expr.span;
        out.exprs[index(moved[i])].name = expr.name;
        out.exprs[index(moved[i])].stored = expr.stored;
    }
    for (Output& output : out.outputs) output.value = moved[index(output.value)];
    return out;
}

}  // namespace fact::ir
