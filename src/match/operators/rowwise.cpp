#include "match/operators/rowwise.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "dsl/composite_call.h"
#include "graph/arguments.h"
#include "graph/operators.h"
#include "match/operators/class_losses.h"
#include "match/operators/losses.h"
#include "match/operators/places.h"
#include "match/operators/pointwise.h"

namespace fact::match {

using graph::Graph;
using graph::Node;
using graph::ValueId;
using ir::BinaryOp;
using ir::ExprId;
using ir::ReduceOp;
using ir::ScanOp;
using ir::UnaryOp;

namespace {

using T = Translation;
using Dims = std::vector<std::vector<ir::DimId>>;

// dims[0] is empty if all reduced dimensions have extent one: then nothing changes.
template <ReduceOp op>
std::vector<ExprId> reduce(T& t, ExprId x, const Dims& dims) {
    return {dims[0].empty() ? x : t.build.reduce(op, x, dims[0])};
}

ExprId composite(T& t, std::string_view name, ExprId x, const std::vector<ir::DimId>& over,
                 std::map<std::string_view, ExprId> arguments = {}) {
    arguments["x"] = x;
    return dsl::call_composite(t.kernel, name, arguments, over);
}

std::vector<ExprId> mean(T& t, ExprId x, const Dims& dims) {
    return {dims[0].empty() ? x : composite(t, "mean", x, dims[0])};
}
// By the sum of magnitudes, of squares, or by the largest magnitude.
std::vector<ExprId> vector_norm(T& t, ExprId x, const Dims& dims) {
    const double order = t.number("ord", 2);
    if (order != 2 || dims[0].empty()) {
        const ExprId size = t.build.unary(UnaryOp::abs, x);
        if (dims[0].empty()) return {size};
        return {t.build.reduce(order == 1 ? ReduceOp::sum : ReduceOp::max, size, dims[0])};
    }
    const ExprId squares = t.build.binary(BinaryOp::mul, x, x);
    return {t.build.unary(UnaryOp::sqrt, t.build.reduce(ReduceOp::sum, squares, dims[0]))};
}

// Divided by the number of elements less torch's `correction`, or its older flag `unbiased`.
std::vector<ExprId> variance(T& t, ExprId x, const Dims& dims) {
    const double correction =
        t.has("correction") ? t.number("correction", 1) : t.number("unbiased", 1);
    if (dims[0].empty()) {  // of one element: 0, or NaN
        const ExprId none = t.build.binary(BinaryOp::sub, x, x);
        return {t.build.binary(BinaryOp::div, none, t.build.literal(1 - correction))};
    }
    const ExprId away = t.build.binary(BinaryOp::sub, x, composite(t, "mean", x, dims[0]));
    const ExprId square = t.build.binary(BinaryOp::mul, away, away);
    if (correction == 0) return {composite(t, "mean", square, dims[0])};
    const ExprId count = t.build.extent(t.kernel.factored_dim(dims[0]));
    const ExprId free = t.build.binary(BinaryOp::sub, count, t.build.literal(correction));
    const ExprId sum = t.build.reduce(ReduceOp::sum, square, dims[0]);
    return {t.build.binary(BinaryOp::div, sum, free)};
}
std::vector<ExprId> deviation(T& t, ExprId x, const Dims& dims) {
    return {t.build.unary(UnaryOp::sqrt, variance(t, x, dims).front())};
}

std::vector<ExprId> cosine_similarity(T& t, ExprId x, const Dims& dims) {
    const ExprId y = t.operand("x2");
    const auto sum = [&](ExprId product) {
        return dims[0].empty() ? product : t.build.reduce(ReduceOp::sum, product, dims[0]);
    };
    const ExprId eps = t.build.literal(t.number("eps", 1e-8));
    const auto length = [&](ExprId vector) {
        const ExprId squares = sum(t.build.binary(BinaryOp::mul, vector, vector));
        return t.build.binary(BinaryOp::max, t.build.unary(UnaryOp::sqrt, squares), eps);
    };
    const ExprId lengths = t.build.binary(BinaryOp::mul, length(x), length(y));
    return {t.build.binary(BinaryOp::div, sum(t.combine(BinaryOp::mul, x, y)), lengths)};
}

std::vector<ExprId> logsumexp(T& t, ExprId x, const Dims& dims) {
    return {dims[0].empty() ? x : composite(t, "logsumexp", x, dims[0])};
}
std::vector<ExprId> softmax(T& t, ExprId x, const Dims& dims) {
    return {composite(t, "softmax", x, dims[0])};
}
std::vector<ExprId> log_softmax(T& t, ExprId x, const Dims& dims) {
    return {composite(t, "log_softmax", x, dims[0])};
}

template <ScanOp op>
std::vector<ExprId> scan(T& t, ExprId x, const Dims& dims) {
    return {t.build.scan(op, x, dims[0])};
}
std::vector<ExprId> flip(T& t, ExprId x, const Dims& dims) {
    for (const ir::DimId dim : dims[0]) x = t.build.flip(x, dim);
    return {x};
}

ExprId affine(T& t, ExprId x) {
    if (t.has("weight")) x = t.combine(BinaryOp::mul, x, t.operand("weight"));
    if (t.has("bias")) x = t.combine(BinaryOp::add, x, t.operand("bias"));
    return x;
}

std::vector<ExprId> layer_norm(T& t, ExprId x, const Dims& dims) {
    const ExprId eps = t.build.literal(t.number("eps", 1e-5));
    return {affine(t, composite(t, "layer_norm", x, dims[0], {{"eps", eps}}))};
}

std::vector<ExprId> rms_norm(T& t, ExprId x, const Dims& dims) {
    // Torch computes in f32 whatever the type, and its default is the epsilon of f32.
    const ExprId eps = t.build.literal(t.number("eps", std::numeric_limits<float>::epsilon()));
    return {affine(t, composite(t, "rms_norm", x, dims[0], {{"eps", eps}}))};
}

// Returns the result, the mean and the inverse standard deviation.
std::vector<ExprId> batch_statistics(T& t, ExprId x, const Dims& dims) {
    const ExprId mean = composite(t, "mean", x, dims[0]);
    const ExprId centered = t.build.binary(BinaryOp::sub, x, mean);
    const ExprId square = t.build.binary(BinaryOp::mul, centered, centered);
    const ExprId variance = composite(t, "mean", square, dims[0]);
    const ExprId eps = t.build.literal(t.number("eps", 1e-5));
    const ExprId scale =
        t.build.unary(UnaryOp::rsqrt, t.build.binary(BinaryOp::add, variance, eps));
    return {affine(t, t.build.binary(BinaryOp::mul, centered, scale)), mean, scale};
}

std::vector<ExprId> running_statistics(T& t, ExprId x, const Dims&) {
    const ExprId eps = t.build.literal(t.number("eps", 1e-5));
    const ExprId centered = t.combine(BinaryOp::sub, x, t.operand("running_mean"));
    const ExprId variance = t.operand("running_var");
    const ExprId scale =
        t.build.unary(UnaryOp::rsqrt, t.build.binary(BinaryOp::add, variance, eps));
    return {affine(t, t.combine(BinaryOp::mul, centered, scale))};
}

template <BinaryOp op>
std::vector<ExprId> triangle(T& t, ExprId x, const Dims& dims) {
    const ExprId row = place_along(t, dims[0]), column = place_along(t, dims[1]);
    const auto offset = static_cast<std::int64_t>(t.number("diagonal", 0));
    const ExprId shifted =
        offset == 0 ? row
                    : t.build.binary(BinaryOp::add, row,
                                     t.build.literal(static_cast<double>(offset), DType::i32));
    return {t.build.select(t.build.binary(op, column, shifted), x, t.build.literal(0))};
}

// The two tensors may be broadcast.
std::string unsupported_similarity(const Graph& graph, const Node& node) {
    if (node.target != "aten.cosine_similarity.default") return "";
    const auto x = graph::tensor_argument(node, "x1"), y = graph::tensor_argument(node, "x2");
    if (!x || !y || graph[*x].type->sizes != graph[*y].type->sizes)
        return "its tensors have different shapes";
    return "";
}

std::string unsupported_order(const Node& node) {
    const auto* order = graph::find_argument(node, "ord");
    const auto* real = order ? std::get_if<double>(order) : nullptr;
    const auto* whole = order ? std::get_if<std::int64_t>(order) : nullptr;
    const double number = real ? *real : whole ? static_cast<double>(*whole) : 2;
    const bool known =
        number == 1 || number == 2 || number == std::numeric_limits<double>::infinity();
    return known ? "" : fmt::format("norms of order {} are left to torch", number);
}

constexpr RowwiseKind kOther = RowwiseKind::other;

const std::vector<RowwiseOp> kRowwiseOps{
    {"aten.sum.dim_IntList", "sum", "self", true, reduce<ReduceOp::sum>},
    {"aten.sum.default", "sum", "self", true, reduce<ReduceOp::sum>},
    {"aten.mean.dim", "mean", "self", true, mean, RowwiseKind::mean},
    {"aten.mean.default", "mean", "self", true, mean, RowwiseKind::mean},
    {"aten.max.dim", "max", "self", true, extreme_and_place<ReduceOp::max>, kOther, true},
    {"aten.argmax.default", "argmax", "self", true, place_of<ReduceOp::max>, kOther, true},
    {"aten.max.default", "max", "self", true, reduce<ReduceOp::max>},
    {"aten.amax.default", "max", "self", true, reduce<ReduceOp::max>},
    {"aten.min.dim", "min", "self", true, extreme_and_place<ReduceOp::min>, kOther, true},
    {"aten.argmin.default", "argmin", "self", true, place_of<ReduceOp::min>, kOther, true},
    {"aten.min.default", "min", "self", true, reduce<ReduceOp::min>},
    {"aten.amin.default", "min", "self", true, reduce<ReduceOp::min>},
    {"aten.logsumexp.default", "logsumexp", "self", true, logsumexp},
    {"aten.var.correction", "var", "self", true, variance},
    {"aten.var.dim", "var", "self", true, variance},
    {"aten.var.default", "var", "self", true, variance},
    {"aten.std.correction", "std", "self", true, deviation},
    {"aten.std.dim", "std", "self", true, deviation},
    {"aten.std.default", "std", "self", true, deviation},
    {"aten.cosine_similarity.default", "cosine", "x1", true, cosine_similarity},
    {"aten.softmax.int", "softmax", "self", false, softmax, RowwiseKind::softmax},
    {"aten._softmax.default", "softmax", "self", false, softmax, RowwiseKind::softmax},
    {"aten.log_softmax.int", "log_softmax", "self", false, log_softmax},
    {"aten._log_softmax.default", "log_softmax", "self", false, log_softmax},
    {"aten.layer_norm.default", "layer_norm", "input", false, layer_norm, RowwiseKind::norm},
    {"aten.rms_norm.default", "rms_norm", "input", false, rms_norm, RowwiseKind::norm},
    {"aten.group_norm.default", "group_norm", "input", false, layer_norm},
    {"aten.instance_norm.default", "instance_norm", "input", false, layer_norm},
    {"aten._native_batch_norm_legit.no_stats", "batch_norm", "input", false, batch_statistics},
    {"aten._native_batch_norm_legit_no_training.default", "batch_norm", "input", false,
     running_statistics},
    {"aten.max_pool1d.default", "max_pool", "self", true, reduce<ReduceOp::max>},
    {"aten.avg_pool1d.default", "avg_pool", "self", true, mean},
    {"aten.linalg_vector_norm.default", "norm", "self", true, vector_norm},
    {"aten.mse_loss.default", "mse_loss", "self", true, mse_loss},
    {"aten.l1_loss.default", "l1_loss", "self", true, l1_loss},
    {"aten.smooth_l1_loss.default", "smooth_l1_loss", "self", true, smooth_l1_loss},
    {"aten.huber_loss.default", "huber_loss", "self", true, huber_loss},
    {"aten.kl_div.default", "kl_div", "self", true, kl_div},
    {"aten.binary_cross_entropy_with_logits.default", "bce", "self", true, bce_with_logits},
    {"aten.cross_entropy_loss.default", "cross_entropy", "self", true, cross_entropy, kOther, true},
    {"aten.nll_loss_nd.default", "nll_loss", "self", true, nll_loss, kOther, true},
    {"aten.triplet_margin_loss.default", "triplet_loss", "anchor", true, triplet_margin_loss},
    {"aten.pairwise_distance.default", "distance", "x1", true, pairwise_distance},
    {"aten.cumsum.default", "cumsum", "self", false, scan<ScanOp::sum>, kOther, true},
    {"aten.cumprod.default", "cumprod", "self", false, scan<ScanOp::product>, kOther, true},
    {"aten.flip.default", "flip", "self", false, flip, kOther, false, true},
    {"aten.tril.default", "tril", "self", false, triangle<BinaryOp::le>, kOther, true},
    {"aten.triu.default", "triu", "self", false, triangle<BinaryOp::ge>, kOther, true},
};

}  // namespace

const RowwiseOp* find_rowwise(const Node& node) {
    const auto row = std::ranges::find(kRowwiseOps, node.target, &RowwiseOp::target);
    return row == kRowwiseOps.end() ? nullptr : &*row;
}

bool finds_places(const Node& node) {
    const RowwiseOp* op = find_rowwise(node);
    return op && op->counts && graph::facts_of(node).kind == graph::OperatorKind::reduction;
}

std::string unsupported_rowwise(const Graph& graph, const Node& node) {
    const RowwiseOp* op = find_rowwise(node);
    if (!op) return fmt::format("no rule covers {} yet", node.target);
    if (node.inputs.empty() || node.inputs.front().name != op->input ||
        !std::holds_alternative<ValueId>(node.inputs.front().value))
        return "its input is not a plain tensor";
    for (const auto& argument : node.inputs)
        if (const auto* value = std::get_if<ValueId>(&argument.value)) {
            const bool number = op->counts && argument.name == "target";  // of a class
            if (std::string reason = unsupported_type(graph, *value, !number); !reason.empty())
                return reason;
        }
    const bool computes = !finds_places(node);  // numbers that are not places
    if (std::string reason = unsupported_type(graph, node.outputs.front(), computes);
        !reason.empty())
        return reason;
    if (graph[node.outputs.front()].type->dtype == DType::boolean)
        return "row-wise operators with a bool result are left to torch";
    const DType input = graph[std::get<ValueId>(node.inputs.front().value)].type->dtype;
    if (!info(input).floating)
        return fmt::format("its input is {}, not a floating type", info(input).name);
    const DType result = graph[node.outputs.front()].type->dtype;
    const auto* dtype = graph::find_argument(node, "dtype");
    if (dtype && !std::holds_alternative<graph::None>(*dtype) && info(result).floating &&
        info(result).bytes < info(input).bytes)
        return fmt::format("it rounds its input to {} first", info(result).name);
    if (std::string reason = unsupported_loss(graph, node); !reason.empty()) return reason;
    if (std::string reason = unsupported_class_loss(graph, node); !reason.empty()) return reason;
    if (std::string reason = unsupported_order(node); !reason.empty()) return reason;
    if (std::string reason = unsupported_similarity(graph, node); !reason.empty()) return reason;
    if (op->counts && op->reduces && node.outputs.size() == 1) {
        const std::string reason = unsupported_places(graph, node);
        if (!reason.empty()) return reason;
    }
    const auto groups = dim_groups(graph, node);
    return groups ? "" : groups.error().message;
}

}  // namespace fact::match
