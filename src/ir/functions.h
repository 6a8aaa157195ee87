// Every pointwise function and reduction of the language, in tables that the checker, the printer,
// the interpreter and the emitters share.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "support/enum_table.h"

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
    tf32,
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

enum class ReduceOp : std::uint8_t { sum, max, min };  // max and min are NaN if any element is

enum class ScanOp : std::uint8_t { sum, product };  // of each element and all before it

struct UnaryInfo {
    UnaryOp op;
    std::string_view name;     // in kernel text; "-" and "not" are prefix operators
    std::string_view meaning;  // exact, including special cases
    // Its C++ spelling for an integer operand, with an integer result; "" if the result is always
    // f32.
    std::string_view of_integer = "";
};

inline constexpr auto kUnary = table_of<UnaryOp>([](UnaryOp op) -> std::optional<UnaryInfo> {
    switch (op) {
        case UnaryOp::neg:
            return UnaryInfo{op, "-", "-x", "-{0}"};
        case UnaryOp::logical_not:
            return UnaryInfo{op, "not", "true where x is false", "!{0}"};
        case UnaryOp::abs:
            return UnaryInfo{op, "abs", "|x|", "{0} < 0 ? -{0} : {0}"};
        case UnaryOp::exp:
            return UnaryInfo{op, "exp", "e^x"};
        case UnaryOp::expm1:
            return UnaryInfo{op, "expm1", "e^x - 1, exact near 0"};
        case UnaryOp::log:
            return UnaryInfo{op, "log", "natural logarithm; log(0) = -inf, negative: NaN"};
        case UnaryOp::log1p:
            return UnaryInfo{op, "log1p", "log(1 + x), exact near 0"};
        case UnaryOp::sqrt:
            return UnaryInfo{op, "sqrt", "square root; negative: NaN"};
        case UnaryOp::rsqrt:
            return UnaryInfo{op, "rsqrt", "1 / sqrt(x); rsqrt(0) = inf"};
        case UnaryOp::reciprocal:
            return UnaryInfo{op, "reciprocal", "1 / x"};
        case UnaryOp::tanh:
            return UnaryInfo{op, "tanh", "hyperbolic tangent"};
        case UnaryOp::erf:
            return UnaryInfo{op, "erf", "error function"};
        case UnaryOp::sigmoid:
            return UnaryInfo{op, "sigmoid", "1 / (1 + e^-x)"};
        case UnaryOp::relu:
            return UnaryInfo{op, "relu", "max(x, 0), NaN stays NaN", "{0} < 0 ? 0 : {0}"};
        case UnaryOp::gelu:
            return UnaryInfo{op, "gelu", "x/2 (1 + erf(x / sqrt 2))"};
        case UnaryOp::gelu_tanh:
            return UnaryInfo{op, "gelu_tanh", "x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))"};
        case UnaryOp::silu:
            return UnaryInfo{op, "silu", "x sigmoid(x)"};
        case UnaryOp::softplus:
            return UnaryInfo{op, "softplus", "log(1 + e^x); x itself above 20"};
        case UnaryOp::mish:
            return UnaryInfo{op, "mish", "x tanh(log(1 + e^x))"};
        case UnaryOp::sin:
            return UnaryInfo{op, "sin", "sine of radians"};
        case UnaryOp::cos:
            return UnaryInfo{op, "cos", "cosine of radians"};
        case UnaryOp::floor:
            return UnaryInfo{op, "floor", "largest integer not above x", "{0}"};
        case UnaryOp::ceil:
            return UnaryInfo{op, "ceil", "smallest integer not below x", "{0}"};
        case UnaryOp::round:
            return UnaryInfo{op, "round", "nearest integer, ties to even", "{0}"};
        case UnaryOp::sign:
            return UnaryInfo{op, "sign", "-1, 0 or 1; NaN stays NaN", "({0} > 0) - ({0} < 0)"};
        case UnaryOp::tf32:
            return UnaryInfo{op, "tf32", "the nearest number of TF32, ties away from 0"};
    }
    return std::nullopt;
});

struct BinaryInfo {
    BinaryOp op;
    std::string_view name;  // an infix operator, or a function when it starts with a letter
    std::string_view meaning;
};

inline constexpr auto kBinary = table_of<BinaryOp>([](BinaryOp op) -> std::optional<BinaryInfo> {
    switch (op) {
        case BinaryOp::add:
            return BinaryInfo{op, "+", "sum"};
        case BinaryOp::sub:
            return BinaryInfo{op, "-", "difference"};
        case BinaryOp::mul:
            return BinaryInfo{op, "*", "product, element by element"};
        case BinaryOp::div:
            return BinaryInfo{op, "/", "quotient, always floating"};
        case BinaryOp::min:
            return BinaryInfo{op, "min", "the smaller; NaN if either is"};
        case BinaryOp::max:
            return BinaryInfo{op, "max", "the larger; NaN if either is"};
        case BinaryOp::pow:
            return BinaryInfo{op, "pow", "a to the power b, as C's pow"};
        case BinaryOp::lt:
            return BinaryInfo{op, "<", "less"};
        case BinaryOp::le:
            return BinaryInfo{op, "<=", "at most"};
        case BinaryOp::gt:
            return BinaryInfo{op, ">", "greater"};
        case BinaryOp::ge:
            return BinaryInfo{op, ">=", "at least"};
        case BinaryOp::eq:
            return BinaryInfo{op, "==", "equal"};
        case BinaryOp::ne:
            return BinaryInfo{op, "!=", "not equal"};
        case BinaryOp::logical_and:
            return BinaryInfo{op, "and", "both"};
        case BinaryOp::logical_or:
            return BinaryInfo{op, "or", "either"};
    }
    return std::nullopt;
});

struct ReduceInfo {
    ReduceOp op;
    std::string_view name;
    std::string_view kernels_name;  // its struct in kernels/common/rows.cuh
    std::string_view noun;          // what the result is called
    std::string_view meaning;
};

inline constexpr auto kReductions =
    table_of<ReduceOp>([](ReduceOp op) -> std::optional<ReduceInfo> {
        switch (op) {
            case ReduceOp::sum:
                return ReduceInfo{op, "sum", "Sum", "sum", "accumulated in f32; of nothing: 0"};
            case ReduceOp::max:
                return ReduceInfo{op, "max", "Max", "largest", "NaN if any is; of nothing: -inf"};
            case ReduceOp::min:
                return ReduceInfo{op, "min", "Min", "smallest", "NaN if any is; of nothing: inf"};
        }
        return std::nullopt;
    });

struct ScanInfo {
    ScanOp op;
    std::string_view name;
    std::string_view kernels_name;  // its struct in kernels/common/rows.cuh
    std::string_view meaning;
};

inline constexpr auto kScans = table_of<ScanOp>([](ScanOp op) -> std::optional<ScanInfo> {
    switch (op) {
        case ScanOp::sum:
            return ScanInfo{op, "cumsum", "Sum", "the sum of the elements up to each"};
        case ScanOp::product:
            return ScanInfo{op, "cumprod", "Product", "the product of the elements up to each"};
    }
    return std::nullopt;
});

constexpr const UnaryInfo& info(UnaryOp op) {
    return kUnary[static_cast<std::size_t>(op)];
}
constexpr const BinaryInfo& info(BinaryOp op) {
    return kBinary[static_cast<std::size_t>(op)];
}
constexpr const ReduceInfo& info(ReduceOp op) {
    return kReductions[static_cast<std::size_t>(op)];
}

constexpr const ScanInfo& info(ScanOp op) {
    return kScans[static_cast<std::size_t>(op)];
}

// The function called `name` in kernel text, operators excluded.
std::optional<UnaryOp> find_unary_function(std::string_view name);
std::optional<BinaryOp> find_binary_function(std::string_view name);
std::optional<ReduceOp> find_reduction(std::string_view name);
std::optional<ScanOp> find_scan(std::string_view name);

}  // namespace fact::ir
