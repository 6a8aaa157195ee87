// The composite functions: each is kernel text that is inlined wherever it is called.
#pragma once

#include <array>
#include <string_view>

#include "dsl/ast.h"
#include "dsl/signature.h"

namespace fact::dsl {

struct CompositeInfo {
    std::string_view name;
    std::string_view parameters;  // with defaults; `over` takes dimensions
    std::string_view definition;  // the last statement gives the result
    std::string_view meaning;
};

inline constexpr std::array<CompositeInfo, 17> kComposites{{
    {"leaky_relu", "x, slope: 0.01", "y = where(x > 0.0, x, x * slope)", "x, or slope x below 0"},
    {"elu", "x, alpha: 1.0", "y = where(x > 0.0, x, alpha * expm1(x))",
     "x, or alpha (e^x - 1) below 0"},
    {"clamp", "x, low, high", "y = min(max(x, low), high)", "x kept in [low, high]; NaN stays NaN"},
    {"hardtanh", "x, low: -1.0, high: 1.0", "y = min(max(x, low), high)", "clamp to [-1, 1]"},
    {"hardsigmoid", "x", "y = min(max(x + 3.0, 0.0), 6.0) / 6.0", "clamp(x + 3, 0, 6) / 6"},
    {"hardswish", "x", "y = x * min(max(x + 3.0, 0.0), 6.0) / 6.0", "x hardsigmoid(x)"},
    {"mean", "x, over", "y = sum(x, over: over) / extent(over)", "sum over the extent"},
    {"sum_of_squares", "x, over", "y = sum(x * x, over: over)", "sum of x^2"},
    {"take", "x, over, at", "y = sum(where(index(over) == at, x, 0.0), over: over)",
     "what x has at one place along a dimension, which the result lacks"},
    {"logsumexp", "x, over",
     "top = max(x, over: over)\n"
     "shift = where(abs(top) == inf, 0.0, top)\n"
     "y = log(sum(exp(x - shift), over: over)) + shift",
     "log of the sum of e^x, without overflow; of -inf alone: -inf"},
    {"softmax", "x, over",
     "e = exp(x - max(x, over: over))\n"
     "y = e / sum(e, over: over)",
     "e^x over its sum; of -inf alone: NaN"},
    {"log_softmax", "x, over",
     "shifted = x - max(x, over: over)\n"
     "y = shifted - log(sum(exp(shifted), over: over))",
     "log of softmax, without underflow"},
    {"layer_norm", "x, over, eps: 1e-5",
     "centered = x - mean(x, over: over)\n"
     "y = centered * rsqrt(mean(centered * centered, over: over) + eps)",
     "(x - mean) / sqrt(variance + eps), the variance biased"},
    {"rms_norm", "x, over, eps", "y = x * rsqrt(mean(x * x, over: over) + eps)",
     "x / sqrt(mean of x^2 + eps)"},
    {"group_norm", "x, over, eps: 1e-5", "y = layer_norm(x, over: over, eps: eps)",
     "layer_norm over a group's dimensions, which a view takes apart"},
    {"instance_norm", "x, over, eps: 1e-5", "y = layer_norm(x, over: over, eps: eps)",
     "layer_norm over the dimensions of one channel"},
    {"batch_norm", "x, mean, var, eps: 1e-5", "y = (x - mean) * rsqrt(var + eps)",
     "by running statistics; batch statistics are layer_norm over the batch"},
}};

struct Composite {
    Signature signature;
    ast::Body body;
};

// Parsed once; nullptr for other names.
const Composite* find_composite(std::string_view name);

}  // namespace fact::dsl
