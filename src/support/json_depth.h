// How deep brackets nest in a JSON text, to be checked before a recursive parser reads it.
#pragma once

#include <string_view>

namespace fact {

// Brackets within strings do not count.
int json_depth(std::string_view text);

}  // namespace fact
