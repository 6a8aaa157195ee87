// How deep brackets nest in a JSON text, before a parser that recurses is given it.
#pragma once

#include <string_view>

namespace fact {

// Brackets within strings do not count.
int json_depth(std::string_view text);

}  // namespace fact
