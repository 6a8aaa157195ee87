// How PyTorch, NumPy and Python spell what the language spells otherwise: cures for diagnostics.
#pragma once

#include <string_view>

namespace fact::dsl {

// What to write instead of a function of that name; "" where nothing is known of it.
std::string_view cure_for_function(std::string_view name);

// The same of an argument of a function.
std::string_view cure_for_argument(std::string_view function, std::string_view argument);

}  // namespace fact::dsl
