// Every pointwise function of the language, in one table that the checker, the printer, the
// interpreter and the emitters share.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace fact::ir {

enum class UnaryOp : std::uint8_t {
    neg,
    logical_not,
    abs,
    exp,
    expm1,
    log,
    log1p,
    sqrt,
    rsqrt,
    reciprocal,
    tanh,
    erf,
    sigmoid,
    relu,
    gelu,
    gelu_tanh,
    silu,
    softplus,
    mish,
    sin,
    cos,
    floor,
    ceil,
    round,
    sign,
};

enum class BinaryOp : std::uint8_t {
    add,
    sub,
    mul,
    div,
    min,
    max,
    pow,
    lt,
    le,
    gt,
    ge,
    eq,
    ne,
    logical_and,
    logical_or,
};

struct UnaryInfo {
    UnaryOp op;
    std::string_view name;     // in kernel text; "-" and "not" are prefix operators
    std::string_view meaning;  // to the bit that matters
};

inline constexpr std::array<UnaryInfo, 25> kUnary{{
    {UnaryOp::neg, "-", "-x"},
    {UnaryOp::logical_not, "not", "true where x is false"},
    {UnaryOp::abs, "abs", "|x|"},
    {UnaryOp::exp, "exp", "e^x"},
    {UnaryOp::expm1, "expm1", "e^x - 1, exact near 0"},
    {UnaryOp::log, "log", "natural logarithm; log(0) = -inf, negative: NaN"},
    {UnaryOp::log1p, "log1p", "log(1 + x), exact near 0"},
    {UnaryOp::sqrt, "sqrt", "square root; negative: NaN"},
    {UnaryOp::rsqrt, "rsqrt", "1 / sqrt(x); rsqrt(0) = inf"},
    {UnaryOp::reciprocal, "reciprocal", "1 / x"},
    {UnaryOp::tanh, "tanh", "hyperbolic tangent"},
    {UnaryOp::erf, "erf", "error function"},
    {UnaryOp::sigmoid, "sigmoid", "1 / (1 + e^-x)"},
    {UnaryOp::relu, "relu", "max(x, 0), NaN stays NaN"},
    {UnaryOp::gelu, "gelu", "x/2 (1 + erf(x / sqrt 2))"},
    {UnaryOp::gelu_tanh, "gelu_tanh", "x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))"},
    {UnaryOp::silu, "silu", "x sigmoid(x)"},
    {UnaryOp::softplus, "softplus", "log(1 + e^x); x itself above 20"},
    {UnaryOp::mish, "mish", "x tanh(log(1 + e^x))"},
    {UnaryOp::sin, "sin", "sine of radians"},
    {UnaryOp::cos, "cos", "cosine of radians"},
    {UnaryOp::floor, "floor", "largest integer not above x"},
    {UnaryOp::ceil, "ceil", "smallest integer not below x"},
    {UnaryOp::round, "round", "nearest integer, ties to even"},
    {UnaryOp::sign, "sign", "-1, 0 or 1; NaN stays NaN"},
}};

struct BinaryInfo {
    BinaryOp op;
    std::string_view name;  // an infix operator, or a function when it starts with a letter
    bool compares;          // gives bool
    std::string_view meaning;
};

inline constexpr std::array<BinaryInfo, 15> kBinary{{
    {BinaryOp::add, "+", false, "sum"},
    {BinaryOp::sub, "-", false, "difference"},
    {BinaryOp::mul, "*", false, "product, element by element"},
    {BinaryOp::div, "/", false, "quotient, always floating"},
    {BinaryOp::min, "min", false, "the smaller; NaN if either is"},
    {BinaryOp::max, "max", false, "the larger; NaN if either is"},
    {BinaryOp::pow, "pow", false, "a to the power b, as C's pow"},
    {BinaryOp::lt, "<", true, "less"},
    {BinaryOp::le, "<=", true, "at most"},
    {BinaryOp::gt, ">", true, "greater"},
    {BinaryOp::ge, ">=", true, "at least"},
    {BinaryOp::eq, "==", true, "equal"},
    {BinaryOp::ne, "!=", true, "not equal"},
    {BinaryOp::logical_and, "and", true, "both"},
    {BinaryOp::logical_or, "or", true, "either"},
}};

constexpr const UnaryInfo& info(UnaryOp op) {
    return kUnary[static_cast<std::size_t>(op)];
}
constexpr const BinaryInfo& info(BinaryOp op) {
    return kBinary[static_cast<std::size_t>(op)];
}

// The function called `name` in kernel text, operators excluded.
std::optional<UnaryOp> find_unary_function(std::string_view name);
std::optional<BinaryOp> find_binary_function(std::string_view name);

}  // namespace fact::ir
