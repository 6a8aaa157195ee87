// The words a kernel text cannot use as names, and what may be called.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fact::dsl {

// Functions beside those of ir/functions.h and the casts.
inline constexpr std::string_view kSpecialFunctions[] = {"where", "clamp", "matmul", "index"};

// Keywords, functions and element types.
bool is_reserved(std::string_view word);

// Everything that can stand before "(": for suggestions.
std::vector<std::string> function_names();

// Letters, digits and '_', not starting with a digit, not reserved.
bool is_valid_name(std::string_view word);

}  // namespace fact::dsl
