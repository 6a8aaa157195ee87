#include "ir/pointwise.h"

#include <cmath>
#include <limits>

namespace fact::ir {
namespace {

double sigmoid(double x) {
    return 1 / (1 + std::exp(-x));
}

// log(1 + e^x) without overflow.
// Kernels compute in f32: what grows beyond its range is infinite there.
double in_f32_range(double x) {
    constexpr double kLargest = std::numeric_limits<float>::max();
    if (std::abs(x) <= kLargest || std::isnan(x)) return x;
    return std::copysign(std::numeric_limits<double>::infinity(), x);
}

double log1p_exp(double x) {
    return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

double gelu(double x) {
    return 0.5 * x * (1 + std::erf(x * 0.70710678118654752440));
}

double gelu_tanh(double x) {
    return 0.5 * x * (1 + std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}

double sign(double x) {
    return x > 0 ? 1 : x < 0 ? -1 : x;
}

// Eleven bits; below f32's normal numbers it is not exact.
double tf32(double x) {
    constexpr double kScale = 1 << 11;
    int exponent = 0;
    const double fraction = std::frexp(x, &exponent);
    return std::isfinite(x) ? std::ldexp(std::round(fraction * kScale) / kScale, exponent) : x;
}

// NaN if either operand is; so is max.
double min(double a, double b) {
    return a < b || std::isnan(a) ? a : b;
}

double max(double a, double b) {
    return a > b || std::isnan(a) ? a : b;
}

template <class F>
void map(Row x, std::int64_t count, double* out, F f) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = f(x.data[i * x.step]);
}

template <class F>
void map(Row a, Row b, std::int64_t count, double* out, F f) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = f(a.data[i * a.step], b.data[i * b.step]);
}

}  // namespace

void apply(UnaryOp op, Row x, std::int64_t count, double* out) {
    const auto each = [&](auto f) { map(x, count, out, f); };
    switch (op) {
        case UnaryOp::neg:
            return each([](double v) { return -v; });
        case UnaryOp::logical_not:
            return each([](double v) { return v == 0 ? 1.0 : 0.0; });
        case UnaryOp::abs:
            return each([](double v) { return std::abs(v); });
        case UnaryOp::exp:
            return each([](double v) { return in_f32_range(std::exp(v)); });
        case UnaryOp::expm1:
            return each([](double v) { return in_f32_range(std::expm1(v)); });
        case UnaryOp::log:
            return each([](double v) { return std::log(v); });
        case UnaryOp::log1p:
            return each([](double v) { return std::log1p(v); });
        case UnaryOp::sqrt:
            return each([](double v) { return std::sqrt(v); });
        case UnaryOp::rsqrt:
            return each([](double v) { return 1 / std::sqrt(v); });
        case UnaryOp::reciprocal:
            return each([](double v) { return 1 / v; });
        case UnaryOp::tanh:
            return each([](double v) { return std::tanh(v); });
        case UnaryOp::erf:
            return each([](double v) { return std::erf(v); });
        case UnaryOp::sigmoid:
            return each(sigmoid);
        case UnaryOp::relu:
            return each([](double v) { return max(v, 0); });
        case UnaryOp::gelu:
            return each(gelu);
        case UnaryOp::gelu_tanh:
            return each(gelu_tanh);
        case UnaryOp::silu:
            return each([](double v) { return v / (1 + std::exp(-v)); });
        case UnaryOp::softplus:
            return each([](double v) { return v > 20 ? v : log1p_exp(v); });
        case UnaryOp::mish:
            return each([](double v) { return v * std::tanh(log1p_exp(v)); });
        case UnaryOp::sin:
            return each([](double v) { return std::sin(v); });
        case UnaryOp::cos:
            return each([](double v) { return std::cos(v); });
        case UnaryOp::floor:
            return each([](double v) { return std::floor(v); });
        case UnaryOp::ceil:
            return each([](double v) { return std::ceil(v); });
        case UnaryOp::round:
            return each([](double v) { return std::nearbyint(v); });
        case UnaryOp::sign:
            return each(sign);
        case UnaryOp::tf32:
            return each(tf32);
    }
}

void apply(BinaryOp op, Row a, Row b, std::int64_t count, double* out) {
    const auto each = [&](auto f) { map(a, b, count, out, f); };
    switch (op) {
        case BinaryOp::add:
            return each([](double x, double y) { return x + y; });
        case BinaryOp::sub:
            return each([](double x, double y) { return x - y; });
        case BinaryOp::mul:
            return each([](double x, double y) { return x * y; });
        case BinaryOp::div:
            return each([](double x, double y) { return x / y; });
        case BinaryOp::min:
            return each(min);
        case BinaryOp::max:
            return each(max);
        case BinaryOp::pow:
            return each([](double x, double y) { return in_f32_range(std::pow(x, y)); });
        case BinaryOp::lt:
            return each([](double x, double y) { return x < y ? 1.0 : 0.0; });
        case BinaryOp::le:
            return each([](double x, double y) { return x <= y ? 1.0 : 0.0; });
        case BinaryOp::gt:
            return each([](double x, double y) { return x > y ? 1.0 : 0.0; });
        case BinaryOp::ge:
            return each([](double x, double y) { return x >= y ? 1.0 : 0.0; });
        case BinaryOp::eq:
            return each([](double x, double y) { return x == y ? 1.0 : 0.0; });
        case BinaryOp::ne:
            return each([](double x, double y) { return x != y ? 1.0 : 0.0; });
        case BinaryOp::logical_and:
            return each([](double x, double y) { return x != 0 && y != 0 ? 1.0 : 0.0; });
        case BinaryOp::logical_or:
            return each([](double x, double y) { return x != 0 || y != 0 ? 1.0 : 0.0; });
    }
}

void select(Row condition, Row a, Row b, std::int64_t count, double* out) {
    for (std::int64_t i = 0; i < count; ++i)
        out[i] = condition.data[i * condition.step] != 0 ? a.data[i * a.step] : b.data[i * b.step];
}

}  // namespace fact::ir
