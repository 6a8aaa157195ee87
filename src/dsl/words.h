// Reserved words of the language, and the names of functions.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace fact::dsl {

// Functions other than those of ir/functions.h, the casts and the composites of prelude.h.
struct SpecialInfo {
    std::string_view name, parameters, meaning;
};
inline constexpr std::array<SpecialInfo, 7> kSpecial{{
    {"where", "condition, a, b", "a where the condition holds, else b"},
    {"matmul", "a, b, precision: exact", "a @ b; `tf32` rounds f32 operands to TF32's bits"},
    {"index", "N", "the coordinate along a dimension, i32"},
    {"extent", "N", "how many elements a dimension has, i32"},
    {"flip", "x, over", "x reversed along a dimension, whose extent is a number"},
    {"attention", "q, k, v, mask: none, bias, unseen: nan, scale, precision: exact, cap, window",
     "softmax(scale * q @ k.T + bias, over: N) @ v; causal: row i sees columns 0 to i; a window: "
     "those less than it away; a cap makes scaled scores s cap * tanh(s / cap)"},
    {"scores_logsumexp", "o",
     "logsumexp of the scores of an attention o, f32; of a row that sees nothing: -inf"},
}};

// Keywords, element types, and functions except composites: a tensor may be called `mean`.
bool is_reserved(std::string_view word);

// Whether a function has this name.
bool is_function(std::string_view word);
// The names of all functions, for suggestions.
std::vector<std::string> function_names();

// Letters, digits and '_', not starting with a digit, not reserved.
bool is_valid_name(std::string_view word);

}  // namespace fact::dsl
