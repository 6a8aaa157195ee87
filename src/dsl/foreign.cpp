#include "dsl/foreign.h"

namespace fact::dsl {
namespace {

struct ForeignFunction {
    std::string_view name, cure;
};
constexpr ForeignFunction kFunctions[] = {
    {"swish", "Write `silu(x)`."},
    {"gelu_new", "Write `gelu_tanh(x)`."},
    {"relu6", "Write `clamp(x, 0.0, 6.0)`."},
    {"logistic", "Write `sigmoid(x)`."},
    {"hard_swish", "Write `hardswish(x)`."},
    {"hard_sigmoid", "Write `hardsigmoid(x)`."},
    {"maximum", "Write `max(a, b)`."},
    {"minimum", "Write `min(a, b)`."},
    {"amax", "Write `max(x, over: N)`."},
    {"amin", "Write `min(x, over: N)`."},
    {"average", "Write `mean(x, over: N)`."},
    {"avg", "Write `mean(x, over: N)`."},
    {"clip", "Write `clamp(x, low, high)`."},
    {"square", "Write `x * x`."},
    {"power", "Write `pow(a, b)`."},
    {"absolute", "Write `abs(x)`."},
    {"fabs", "Write `abs(x)`."},
    {"var", "Write `mean(d * d, over: N)` of `d = x - mean(x, over: N)`."},
    {"std", "Write `sqrt(mean(d * d, over: N))` of `d = x - mean(x, over: N)`."},
    {"linear", "Write `x @ w.T + b`."},
    {"dot", "Write `a @ b`."},
    {"mm", "Write `a @ b`."},
    {"bmm", "Write `a @ b`."},
    {"einsum", "Write `a @ b`, with `.permute(...)` where the order differs."},
    {"transpose", "Write `x.T`, or `x.permute(...)` with all dimensions."},
    {"permute", "Write `x.permute(M, K)`, with the names of the dimensions."},
    {"reshape", "Write `x.view(...)`, with the names of the dimensions."},
    {"view", "Write `x.view(...)`, with the names of the dimensions."},
    {"expand", "Write `x.expand(...)`, with the names of the dimensions."},
    {"unsqueeze", "Leave it out: dimensions match by name."},
    {"squeeze", "Write `take(x, over: 1, at: 0)`, which leaves out a dimension of 1."},
    {"select", "Write `take(x, over: 3, at: 0)`."},
    {"chunk", "Split the dimension: `take(x.view(M, 2, D), over: 2, at: 0)`."},
    {"split", "Split the dimension: `take(x.view(M, 3, D), over: 3, at: 0)`."},
    {"masked_fill", "Write `where(mask, value, x)`."},
    {"tril", "Write `where(index(N) <= index(M), x, 0.0)`."},
    {"triu", "Write `where(index(N) >= index(M), x, 0.0)`."},
    {"arange", "Write `index(N)`, the coordinate along a dimension."},
    {"scaled_dot_product_attention", "Write `attention(q, k, v)`."},
    {"float", "Write `f32(x)`."},
    {"half", "Write `f16(x)`."},
    {"bfloat16", "Write `bf16(x)`."},
};

struct ForeignArgument {
    std::string_view function, name, cure;  // function "": any
};
constexpr ForeignArgument kArguments[] = {
    {"gelu", "approximate", "Write `gelu_tanh(x)` for the tanh form."},
    {"leaky_relu", "negative_slope", "It is called `slope`: write `slope: 0.1`."},
    {"hardtanh", "min_val", "It is called `low`: write `low: -1.0`."},
    {"hardtanh", "max_val", "It is called `high`: write `high: 1.0`."},
    {"clamp", "min", "It is called `low`: write `low: 0.0`."},
    {"clamp", "max", "It is called `high`: write `high: 6.0`."},
    {"attention", "is_causal", "Write `mask: causal`."},
    {"attention", "causal", "Write `mask: causal`."},
    {"attention", "attn_mask", "Write `bias: where(m, 0.0, -inf)`."},
    {"", "dim", "Name the dimension: write `over: N`."},
    {"", "axis", "Name the dimension: write `over: N`."},
    {"", "keepdim", "Leave it out: what lacks a dimension broadcasts along it."},
    {"", "keepdims", "Leave it out: what lacks a dimension broadcasts along it."},
    {"", "dtype", "Cast with the type's name: `bf16(x)`."},
};

}  // namespace

std::string_view cure_for_function(std::string_view name) {
    for (const ForeignFunction& row : kFunctions)
        if (row.name == name) return row.cure;
    return "";
}

std::string_view cure_for_argument(std::string_view function, std::string_view argument) {
    for (const ForeignArgument& row : kArguments)
        if (row.name == argument && (row.function.empty() || row.function == function))
            return row.cure;
    return "";
}

}  // namespace fact::dsl
