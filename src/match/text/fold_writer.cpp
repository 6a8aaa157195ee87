#include "match/text/fold_writer.h"

#include <fmt/format.h>

#include "dsl/composite_call.h"
#include "ir/needed.h"
#include "support/result.h"

namespace fact::match {

using ir::BinaryOp;
using ir::ExprId;

FoldWriter::FoldWriter(ir::Kernel& kernel, const Fold& fold, ExprId x, ir::DimId k,
                       std::map<std::uint32_t, ExprId> vectors)
    : kernel_(kernel), build_(kernel), fold_(fold), x_(x), k_(k), vectors_(std::move(vectors)) {}

ExprId FoldWriter::with_gain(ExprId weight) {
    if (fold_.form.gains.empty()) return weight;
    auto [at, fresh] = with_gain_.try_emplace(weight);
    if (!fresh) return at->second;
    ExprId gained = weight;
    for (const ExprId gain : fold_.form.gains)
        gained = build_.binary(BinaryOp::mul, gained, copy(gain));
    gained = build_.cast(kernel_[weight].type.dtype, gained);
    const std::size_t number = with_gain_.size();
    return at->second = named(gained, number == 1 ? "scaled" : fmt::format("scaled{}", number));
}

ExprId FoldWriter::normalised(ExprId sums, ExprId weight) {
    if (!inverse_) write_statistics();
    if (fold_.form.centered) {
        // The language has no outer product of two vectors: one of them must be expanded.
        const ExprId means = build_.expand(*mean_, kernel_[sums].type.dims);
        const ExprId column = build_.reduce(ir::ReduceOp::sum, with_gain(weight), {k_});
        sums = build_.binary(BinaryOp::sub, sums, build_.binary(BinaryOp::mul, means, column));
    }
    sums = build_.binary(BinaryOp::mul, sums, *inverse_);
    if (!fold_.form.shift) return sums;
    const ExprId shifted = build_.binary(BinaryOp::mul, weight, copy(*fold_.form.shift));
    return build_.binary(BinaryOp::add, sums, build_.reduce(ir::ReduceOp::sum, shifted, {k_}));
}

void FoldWriter::write_statistics() {
    ExprId rows = x_;
    if (fold_.form.centered) {
        mean_ = named(mean(x_), "center");
        rows = build_.binary(BinaryOp::sub, x_, *mean_);
    }
    const ExprId variance = mean(build_.binary(BinaryOp::mul, rows, rows));
    const ExprId safe = build_.binary(BinaryOp::add, variance, build_.literal(fold_.form.eps));
    inverse_ = named(build_.unary(ir::UnaryOp::rsqrt, safe), "inverse");
}

// Copies an expression from the kernel of the norm alone.
ExprId FoldWriter::copy(ExprId vector) {
    std::vector<ExprId> copies(fold_.kernel.exprs.size());
    const auto needed = ir::needed_for(fold_.kernel, {vector}, [](ExprId) { return false; });
    for (std::size_t i = 0; i < needed.size(); ++i)
        if (needed[i]) copies[i] = copy(fold_.kernel.exprs[i], copies);
    return copies[ir::index(vector)];
}

ExprId FoldWriter::copy(const ir::Expr& expr, const std::vector<ExprId>& copies) {
    if (const auto* param = std::get_if<ir::Param>(&expr.node)) return vectors_.at(param->index);
    if (const auto* number = std::get_if<ir::Literal>(&expr.node))
        return build_.literal(number->value, expr.type.dtype);
    if (const auto* binary = std::get_if<ir::Binary>(&expr.node))
        return build_.binary(binary->op, copies[ir::index(binary->a)],
                             copies[ir::index(binary->b)]);
    // NormForm ignores rounding; verification finds out whether that loses too much precision.
    if (const auto* cast = std::get_if<ir::Cast>(&expr.node)) return copies[ir::index(cast->x)];
    if (const auto* permute = std::get_if<ir::Permute>(&expr.node))
        return copies[ir::index(permute->x)];
    throw InternalError(
        fmt::format("a vector of the norm in {} is not plain arithmetic", fold_.kernel.name));
}

ExprId FoldWriter::mean(ExprId rows) {
    return dsl::call_composite(kernel_, "mean", {{"x", rows}}, {k_});
}

ExprId FoldWriter::named(ExprId expr, std::string name) {
    kernel_.exprs[ir::index(expr)].name = std::move(name);
    return expr;
}

}  // namespace fact::match
