#include "match/operators/class_losses.h"

#include <limits>

#include "dsl/composite_call.h"
#include "graph/arguments.h"
#include "graph/operators.h"
#include "match/operators/losses.h"
#include "match/operators/places.h"

namespace fact::match {

using graph::Graph;
using graph::Node;
using ir::BinaryOp;
using ir::ExprId;
using ir::ReduceOp;
using ir::UnaryOp;

namespace {

using T = Translation;

constexpr std::int64_t kIgnored = -100;  // torch's default of "ignore_index"

// The score of the target's class; -inf if there is no such class.
ExprId picked(T& t, ExprId x, ExprId target, const std::vector<ir::DimId>& classes) {
    const ExprId place = place_along(t, classes);
    const ExprId hit = classes.size() == 1 ? t.build.binary(BinaryOp::eq, place, target)
                                           : t.combine(BinaryOp::eq, place, target);
    const ExprId none = t.build.literal(-std::numeric_limits<double>::infinity());
    return t.build.reduce(ReduceOp::max, t.build.select(hit, x, none), classes);
}

// The losses of all samples as torch reduces them. Those of the ignored class do not count.
std::vector<ExprId> over_samples(T& t, ExprId losses, ExprId target) {
    const auto ignored = t.number("ignore_index", static_cast<double>(kIgnored));
    const ExprId counts =
        t.build.binary(BinaryOp::ne, target, t.build.literal(ignored, DType::i32));
    ExprId counted = t.build.select(counts, losses, t.build.literal(0));
    const double reduction = t.number("reduction", kReducedToMean);
    if (reduction == kNotReduced) return {counted};
    const auto samples = t.kernel[counted].type.dims;
    if (!samples.empty()) counted = t.stored(counted);
    const auto sum = [&](ExprId x) {
        return samples.empty() ? x : t.build.reduce(ReduceOp::sum, x, samples);
    };
    if (reduction == kReducedToSum) return {sum(counted)};
    return {t.build.binary(BinaryOp::div, sum(counted), sum(counts))};
}

// Of scores that are logarithms of probabilities less `total`; with the label smoothed, every class
// has a part of the target.
ExprId smoothed(T& t, ExprId x, ExprId total, ExprId target,
                const std::vector<ir::DimId>& classes) {
    const auto loss = [&](ExprId score) { return t.build.binary(BinaryOp::sub, total, score); };
    const auto part = [&](ExprId loss, double share) {
        return t.build.binary(BinaryOp::mul, loss, t.build.literal(share));
    };
    const ExprId own = loss(picked(t, x, target, classes));
    const double rest = t.number("label_smoothing", 0);
    if (rest == 0) return own;
    const ExprId mean = dsl::call_composite(t.kernel, "mean", {{"x", x}}, classes);
    return t.build.binary(BinaryOp::add, part(own, 1 - rest), part(loss(mean), rest));
}

}  // namespace

std::vector<ExprId> cross_entropy(T& t, ExprId x, const ClassDims& dims) {
    auto [scores, target] = t.aligned(x, t.operand("target"));
    // Not logsumexp(x) - x[target]: with large scores, that would be the difference of two large
    // numbers.
    const ExprId largest = t.build.reduce(ReduceOp::max, scores, dims[1]);
    const ExprId below = t.build.binary(BinaryOp::sub, scores, largest);
    const ExprId sum = t.build.reduce(ReduceOp::sum, t.build.unary(UnaryOp::exp, below), dims[1]);
    const ExprId total = t.build.unary(UnaryOp::log, sum);
    return over_samples(t, smoothed(t, below, total, target, dims[1]), target);
}

std::vector<ExprId> nll_loss(T& t, ExprId x, const ClassDims& dims) {
    auto [scores, target] = t.aligned(x, t.operand("target"));
    const ExprId score = picked(t, scores, target, dims[1]);
    return over_samples(t, t.build.unary(UnaryOp::neg, score), target);
}

std::size_t class_dim(const Graph& graph, const Node& node) {
    const auto scores = std::get<graph::ValueId>(node.inputs.front().value);
    return graph[scores].type->sizes.size() > 1 ? 1 : 0;
}

std::string unsupported_class_loss(const Graph& graph, const Node& node) {
    if (graph::facts_of(node).along != graph::Along::classes) return "";
    const auto target = graph::tensor_argument(node, "target");
    if (!target) return "its target is not a tensor";
    if (info(graph[*target].type->dtype).floating)
        return "its target has a share for each class, not the number of one";
    const auto ignored = graph::int_argument(node, "ignore_index").value_or(kIgnored);
    if (ignored != static_cast<std::int32_t>(ignored))
        return "its ignore_index does not fit in 32 bits";
    return "";
}

}  // namespace fact::match
