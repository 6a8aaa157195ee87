// Spellings of PyTorch, NumPy and Python, and what the language has instead, for
// diagnostics to suggest.
#pragma once

#include <string_view>

namespace fact::dsl {

// What to write instead of a function of that name; "" if it is not known.
std::string_view cure_for_function(std::string_view name);

// The same for an argument of a function, such as `dim` (of whichever) or `approximate` (of
// `gelu`).
std::string_view cure_for_argument(std::string_view function, std::string_view argument);

}  // namespace fact::dsl
