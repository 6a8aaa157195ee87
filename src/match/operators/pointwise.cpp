#include "match/operators/pointwise.h"

#include <algorithm>
#include <cmath>

namespace fact::match {

using graph::Node;
using ir::BinaryOp;
using ir::ExprId;
using ir::UnaryOp;

namespace {

using T = Translation;

template <UnaryOp op>
ExprId unary(T& t) {
    return t.build.unary(op, t.operand("self"));
}

template <BinaryOp op>
ExprId binary(T& t) {
    return t.build.binary(op, t.operand("self"), t.operand("other"));
}

ExprId scaled(T& t, ExprId x, double factor) {
    return factor == 1 ? x : t.build.binary(BinaryOp::mul, x, t.build.literal(factor));
}

ExprId add(T& t) {
    return t.build.binary(BinaryOp::add, t.operand("self"),
                          scaled(t, t.operand("other"), t.number("alpha", 1)));
}

ExprId sub(T& t) {
    return t.build.binary(BinaryOp::sub, t.operand("self"),
                          scaled(t, t.operand("other"), t.number("alpha", 1)));
}

ExprId rsub(T& t) {
    return t.build.binary(BinaryOp::sub, t.operand("other"),
                          scaled(t, t.operand("self"), t.number("alpha", 1)));
}

ExprId div(T& t) {
    // As torch does: x / c is computed as x * (1 / c).
    if (t.is_number("other")) {
        const double divisor = t.number("other", 1);
        if (divisor != 0 && std::isfinite(divisor))
            return scaled(t, t.operand("self"), 1 / divisor);
    }
    return binary<BinaryOp::div>(t);
}

ExprId power(T& t) {
    const double exponent = t.number("exponent", 1);
    const ExprId x = t.operand("self");
    const auto times = [&](ExprId a) { return t.build.binary(BinaryOp::mul, a, x); };
    if (exponent == 1) return x;
    if (exponent == 2) return times(x);
    if (exponent == 3) return times(times(x));
    if (exponent == 0.5) return t.build.unary(UnaryOp::sqrt, x);
    if (exponent == -0.5) return t.build.unary(UnaryOp::rsqrt, x);
    if (exponent == -1) return t.build.unary(UnaryOp::reciprocal, x);
    return t.build.binary(BinaryOp::pow, x, t.build.literal(exponent));
}

ExprId power_of_tensors(T& t) {
    return t.build.binary(BinaryOp::pow, t.operand("self"), t.operand("exponent"));
}

// Whether it is tanh(softplus(x)), which with another factor x is mish(x): one exponential.
bool is_soft_gate(T& t, ExprId gate, ExprId x) {
    const auto* tanh = std::get_if<ir::Unary>(&t.build.kernel()[gate].node);
    if (!tanh || tanh->op != UnaryOp::tanh) return false;
    const auto* soft = std::get_if<ir::Unary>(&t.build.kernel()[tanh->x].node);
    return soft && soft->op == UnaryOp::softplus && soft->x == x;
}

ExprId product(T& t) {
    const ExprId self = t.operand("self"), other = t.operand("other");
    if (is_soft_gate(t, self, other)) return t.build.unary(UnaryOp::mish, other);
    if (is_soft_gate(t, other, self)) return t.build.unary(UnaryOp::mish, self);
    return binary<BinaryOp::mul>(t);
}

ExprId square(T& t) {
    const ExprId x = t.operand("self");
    return t.build.binary(BinaryOp::mul, x, x);
}

ExprId gelu(T& t) {
    const bool tanh = t.text("approximate", "none") == "tanh";
    return t.build.unary(tanh ? UnaryOp::gelu_tanh : UnaryOp::gelu, t.operand("self"));
}

ExprId clamped(T& t, ExprId x, double low, double high) {
    const ExprId raised = t.build.binary(BinaryOp::max, x, t.build.literal(low));
    return t.build.binary(BinaryOp::min, raised, t.build.literal(high));
}

ExprId hardtanh(T& t) {
    return clamped(t, t.operand("self"), t.number("min_val", -1), t.number("max_val", 1));
}

ExprId clamp(T& t) {
    ExprId x = t.operand("self");
    if (t.has("min")) x = t.build.binary(BinaryOp::max, x, t.operand("min"));
    if (t.has("max")) x = t.build.binary(BinaryOp::min, x, t.operand("max"));
    return x;
}

ExprId clamp_by_tensors(T& t) {
    ExprId x = t.operand("self");
    if (t.has("min")) x = t.combine(BinaryOp::max, x, t.operand("min"));
    if (t.has("max")) x = t.combine(BinaryOp::min, x, t.operand("max"));
    return x;
}

ExprId relu6(T& t) {
    return clamped(t, t.operand("self"), 0, 6);
}

ExprId leaky_relu(T& t) {
    const ExprId x = t.operand("self");
    const ExprId positive = t.build.binary(BinaryOp::gt, x, t.build.literal(0));
    return t.build.select(positive, x, scaled(t, x, t.number("negative_slope", 0.01)));
}

ExprId elu_of(T& t, double alpha, double scale, double input_scale) {
    const ExprId x = t.operand("self");
    const ExprId below = t.build.unary(UnaryOp::expm1, scaled(t, x, input_scale));
    const ExprId positive = t.build.binary(BinaryOp::gt, x, t.build.literal(0));
    return t.build.select(positive, scaled(t, x, scale), scaled(t, below, alpha * scale));
}

ExprId elu(T& t) {
    return elu_of(t, t.number("alpha", 1), t.number("scale", 1), t.number("input_scale", 1));
}

ExprId selu(T& t) {
    return elu_of(t, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1);
}

ExprId celu(T& t) {
    const double alpha = t.number("alpha", 1);
    return elu_of(t, alpha, 1, 1 / alpha);
}

ExprId threshold(T& t) {
    const ExprId x = t.operand("self"), limit = t.build.literal(t.number("threshold", 0));
    return t.build.select(t.build.binary(BinaryOp::le, x, limit),
                          t.build.literal(t.number("value", 0)), x);
}

ExprId log_sigmoid(T& t) {
    const ExprId x = t.operand("self"), size = t.build.unary(UnaryOp::abs, x);
    const ExprId share = t.build.unary(UnaryOp::exp, t.build.unary(UnaryOp::neg, size));
    const ExprId negative = t.build.binary(BinaryOp::min, x, t.build.literal(0));
    return t.build.binary(BinaryOp::sub, negative, t.build.unary(UnaryOp::log1p, share));
}

template <BinaryOp op>
ExprId add_combined(T& t) {
    const ExprId combined = t.build.binary(op, t.operand("tensor1"), t.operand("tensor2"));
    return t.build.binary(BinaryOp::add, t.operand("self"),
                          scaled(t, combined, t.number("value", 1)));
}

// From the nearer end, as torch does.
ExprId lerp(T& t) {
    const double weight = t.number("weight", 0);
    const ExprId from = t.operand("self"), to = t.operand("end");
    const ExprId way = t.build.binary(BinaryOp::sub, to, from);
    if (std::abs(weight) < 0.5) return t.build.binary(BinaryOp::add, from, scaled(t, way, weight));
    return t.build.binary(BinaryOp::sub, to, scaled(t, way, 1 - weight));
}

ExprId softplus(T& t) {
    const double beta = t.number("beta", 1), threshold = t.number("threshold", 20);
    const ExprId x = t.operand("self"), steep = scaled(t, x, beta);
    const ExprId soft = scaled(t, t.build.unary(UnaryOp::softplus, steep), 1 / beta);
    if (threshold == 20) return soft;  // the language's softplus is itself linear from there on
    const ExprId linear = t.build.binary(BinaryOp::gt, steep, t.build.literal(threshold));
    return t.build.select(linear, x, soft);
}

ExprId hardsigmoid(T& t) {
    const ExprId shifted = t.build.binary(BinaryOp::add, t.operand("self"), t.build.literal(3));
    return scaled(t, clamped(t, shifted, 0, 6), 1.0 / 6);
}

ExprId hardswish(T& t) {
    return t.build.binary(BinaryOp::mul, t.operand("self"), hardsigmoid(t));
}

// A comparison. `mask == 1`, `mask != 0` and the like are the mask or its negation.
template <BinaryOp op>
ExprId compare(T& t) {
    const bool equality = op == BinaryOp::eq || op == BinaryOp::ne;
    if (equality && t.type_of("self") == DType::boolean && t.is_number("other")) {
        const double other = t.number("other", 0);
        if (other == 0 || other == 1) {
            const ExprId x = t.operand("self");
            const bool as_is = (other == 1) == (op == BinaryOp::eq);
            return as_is ? x : t.build.unary(UnaryOp::logical_not, x);
        }
    }
    const ExprId x = t.operand("self");
    const bool floating = info(t.type_of("self")).floating;
    const double other = t.number("other", 0);
    if (t.is_number("other") && !floating && other == std::floor(other))
        return t.build.binary(op, x, t.build.literal(other, DType::i32));
    return t.build.binary(op, x, t.operand("other"));
}

ExprId as_bool(T& t, const std::string& name) {
    const ExprId x = t.operand(name);
    return t.type_of(name) == DType::boolean ? x : t.build.cast(DType::boolean, x);
}

template <BinaryOp op>
ExprId logical(T& t) {
    return t.build.binary(op, as_bool(t, "self"), as_bool(t, "other"));
}

ExprId logical_not(T& t) {
    return t.build.unary(UnaryOp::logical_not, as_bool(t, "self"));
}

ExprId where(T& t) {
    return t.build.select(as_bool(t, "condition"), t.operand("self"), t.operand("other"));
}

ExprId masked_fill(T& t) {
    return t.build.select(as_bool(t, "mask"), t.operand("value"), t.operand("self"));
}

ExprId cast(T& t) {
    const ExprId x = t.operand("self");
    const DType from = t.type_of("self"), to = t.result_type();
    // Floating values are f32 inside a kernel, so a cast to f32 changes nothing.
    if (from == to || (info(from).floating && to == DType::f32)) return x;
    return t.build.cast(to, x);
}

ExprId identity(T& t) {
    return t.operand("self");
}

ExprId constant(T& t) {
    const std::string_view name = t.has("fill_value") ? "fill_value" : "s";
    const DType dtype = t.result_type() == DType::boolean ? DType::boolean : DType::f32;
    return t.build.literal(t.number(name, 0), dtype);
}

// Arguments that may be tensors: PointwiseOp::tensors.
const std::vector<std::string_view> kSelf{"self"}, kPair{"self", "other"};
const std::vector<std::string_view> kWhere{"condition", "self", "other"};
const std::vector<std::string_view> kMasked{"self", "mask", "value"}, kNone{};
const std::vector<std::string_view> kThree{"self", "tensor1", "tensor2"}, kEnds{"self", "end"};
const std::vector<std::string_view> kBounded{"self", "min", "max"}, kPower{"self", "exponent"};

const std::vector<PointwiseOp> kPointwiseOps{
    {"aten.add.Tensor", "add", kPair, add},
    {"aten.add.Scalar", "add", kPair, add},
    {"aten.sub.Tensor", "sub", kPair, sub},
    {"aten.sub.Scalar", "sub", kPair, sub},
    {"aten.rsub.Tensor", "sub", kPair, rsub},
    {"aten.rsub.Scalar", "sub", kPair, rsub},
    {"aten.mul.Tensor", "mul", kPair, product},
    {"aten.mul.Scalar", "mul", kPair, binary<BinaryOp::mul>},
    {"aten.div.Tensor", "div", kPair, div},
    {"aten.div.Scalar", "div", kPair, div},
    {"aten.neg.default", "neg", kSelf, unary<UnaryOp::neg>},
    {"aten.pow.Tensor_Scalar", "pow", kSelf, power},
    {"aten.pow.Tensor_Tensor", "pow", kPower, power_of_tensors},
    {"aten.square.default", "square", kSelf, square},
    {"aten.exp.default", "exp", kSelf, unary<UnaryOp::exp>},
    {"aten.expm1.default", "expm1", kSelf, unary<UnaryOp::expm1>},
    {"aten.log.default", "log", kSelf, unary<UnaryOp::log>},
    {"aten.log1p.default", "log1p", kSelf, unary<UnaryOp::log1p>},
    {"aten.sqrt.default", "sqrt", kSelf, unary<UnaryOp::sqrt>},
    {"aten.rsqrt.default", "rsqrt", kSelf, unary<UnaryOp::rsqrt>},
    {"aten.reciprocal.default", "reciprocal", kSelf, unary<UnaryOp::reciprocal>},
    {"aten.tanh.default", "tanh", kSelf, unary<UnaryOp::tanh>},
    {"aten.erf.default", "erf", kSelf, unary<UnaryOp::erf>},
    {"aten.sigmoid.default", "sigmoid", kSelf, unary<UnaryOp::sigmoid>},
    {"aten.relu.default", "relu", kSelf, unary<UnaryOp::relu>},
    {"aten.relu6.default", "relu6", kSelf, relu6},
    {"aten.gelu.default", "gelu", kSelf, gelu},
    {"aten.silu.default", "silu", kSelf, unary<UnaryOp::silu>},
    {"aten.mish.default", "mish", kSelf, unary<UnaryOp::mish>},
    {"aten.softplus.default", "softplus", kSelf, softplus},
    {"aten.hardtanh.default", "clamp", kSelf, hardtanh},
    {"aten.clamp.default", "clamp", kSelf, clamp},
    {"aten.clamp_min.default", "clamp", kSelf, clamp},
    {"aten.clamp_max.default", "clamp", kSelf, clamp},
    {"aten.clamp.Tensor", "clamp", kBounded, clamp_by_tensors},
    {"aten.clamp_min.Tensor", "clamp", kBounded, clamp_by_tensors},
    {"aten.clamp_max.Tensor", "clamp", kBounded, clamp_by_tensors},
    {"aten.leaky_relu.default", "leaky_relu", kSelf, leaky_relu},
    {"aten.elu.default", "elu", kSelf, elu},
    {"aten.selu.default", "selu", kSelf, selu},
    {"aten.celu.default", "celu", kSelf, celu},
    {"aten.threshold.default", "threshold", kSelf, threshold},
    {"aten.log_sigmoid.default", "log_sigmoid", kSelf, log_sigmoid},
    {"aten.addcmul.default", "addcmul", kThree, add_combined<BinaryOp::mul>},
    {"aten.addcdiv.default", "addcdiv", kThree, add_combined<BinaryOp::div>},
    {"aten.lerp.Scalar", "lerp", kEnds, lerp},
    {"aten.hardsigmoid.default", "hardsigmoid", kSelf, hardsigmoid},
    {"aten.hardswish.default", "hardswish", kSelf, hardswish},
    {"aten.abs.default", "abs", kSelf, unary<UnaryOp::abs>},
    {"aten.sin.default", "sin", kSelf, unary<UnaryOp::sin>},
    {"aten.cos.default", "cos", kSelf, unary<UnaryOp::cos>},
    {"aten.floor.default", "floor", kSelf, unary<UnaryOp::floor>},
    {"aten.ceil.default", "ceil", kSelf, unary<UnaryOp::ceil>},
    {"aten.round.default", "round", kSelf, unary<UnaryOp::round>},
    {"aten.sign.default", "sign", kSelf, unary<UnaryOp::sign>},
    {"aten.minimum.default", "min", kPair, binary<BinaryOp::min>},
    {"aten.maximum.default", "max", kPair, binary<BinaryOp::max>},
    {"aten.min.other", "min", kPair, binary<BinaryOp::min>},
    {"aten.max.other", "max", kPair, binary<BinaryOp::max>},
    {"aten.eq.Tensor", "", kPair, compare<BinaryOp::eq>},
    {"aten.eq.Scalar", "", kPair, compare<BinaryOp::eq>},
    {"aten.ne.Tensor", "", kPair, compare<BinaryOp::ne>},
    {"aten.ne.Scalar", "", kPair, compare<BinaryOp::ne>},
    {"aten.lt.Tensor", "", kPair, compare<BinaryOp::lt>},
    {"aten.lt.Scalar", "", kPair, compare<BinaryOp::lt>},
    {"aten.le.Tensor", "", kPair, compare<BinaryOp::le>},
    {"aten.le.Scalar", "", kPair, compare<BinaryOp::le>},
    {"aten.gt.Tensor", "", kPair, compare<BinaryOp::gt>},
    {"aten.gt.Scalar", "", kPair, compare<BinaryOp::gt>},
    {"aten.ge.Tensor", "", kPair, compare<BinaryOp::ge>},
    {"aten.ge.Scalar", "", kPair, compare<BinaryOp::ge>},
    {"aten.logical_and.default", "", kPair, logical<BinaryOp::logical_and>},
    {"aten.logical_or.default", "", kPair, logical<BinaryOp::logical_or>},
    {"aten.logical_not.default", "", kSelf, logical_not},
    {"aten.bitwise_and.Tensor", "", kPair, logical<BinaryOp::logical_and>},
    {"aten.bitwise_or.Tensor", "", kPair, logical<BinaryOp::logical_or>},
    {"aten.bitwise_not.default", "", kSelf, logical_not},
    {"aten.where.self", "mask", kWhere, where},
    {"aten.where.ScalarSelf", "mask", kWhere, where},
    {"aten.where.ScalarOther", "mask", kWhere, where},
    {"aten.where.Scalar", "mask", kWhere, where},
    {"aten.masked_fill.Scalar", "mask", kMasked, masked_fill},
    {"aten.masked_fill.Tensor", "mask", kMasked, masked_fill},
    {"aten._to_copy.default", "", kSelf, cast},
    {"aten.clone.default", "", kSelf, identity},
    {"aten.full.default", "", kNone, constant},
    {"aten.scalar_tensor.default", "", kNone, constant},
};

}  // namespace

const PointwiseOp* find_pointwise(const Node& node) {
    const auto row = std::ranges::find(kPointwiseOps, node.target, &PointwiseOp::target);
    return row == kPointwiseOps.end() ? nullptr : &*row;
}

}  // namespace fact::match
