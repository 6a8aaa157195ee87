// The words a kernel text cannot use as names, and what may be called.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "ir/functions.h"

namespace fact::dsl {

// Functions beside the pointwise ones of ir/functions.h, the casts and the composites of prelude.h.
struct SpecialInfo {
    std::string_view name, parameters, meaning;
};
inline constexpr std::array<SpecialInfo, 10> kSpecial{{
    {"where", "condition, a, b", "a where the condition holds, else b"},
    {"matmul", "a, b, precision: exact", "a @ b; `tf32` rounds f32 operands to TF32's bits"},
    {"index", "N", "the coordinate along a dimension, i32"},
    {"extent", "N", "how many elements a dimension has, i32"},
    {"sum", "x, over", "the sum, accumulated in f32; of nothing: 0"},
    {"max", "x, over", "the largest; NaN if any is, of nothing: -inf"},
    {"min", "x, over", "the smallest; NaN if any is, of nothing: inf"},
    {"flip", "x, over", "x reversed along a dimension, whose extent is a number"},
    {"attention", "q, k, v, mask: none, bias, unseen: nan, scale, precision: exact, cap, window",
     "softmax(scale * q @ k.T + bias, over: N) @ v; causal: row i sees columns 0 to i; a window: "
     "those less than it away; a cap makes scaled scores s cap * tanh(s / cap)"},
    {"scores_logsumexp", "o",
     "logsumexp of the scores of an attention o, f32; of a row that sees nothing: -inf"},
}};

// A new reduction is a function too.
static_assert(std::ranges::all_of(ir::kReductions, [](const ir::ReduceInfo& reduction) {
    return std::ranges::find(kSpecial, reduction.name, &SpecialInfo::name) != kSpecial.end();
}));

// Keywords, element types, and the functions that are no composites: `mean` may be a tensor.
bool is_reserved(std::string_view word);

// Whether it can stand before "(".
bool is_function(std::string_view word);
// All of them: for suggestions.
std::vector<std::string> function_names();

// Letters, digits and '_', not starting with a digit, not reserved.
bool is_valid_name(std::string_view word);

}  // namespace fact::dsl
