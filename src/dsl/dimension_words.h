// Finds the dimensions in a kernel text.
#pragma once

#include <string_view>
#include <vector>

namespace fact::dsl {

// A dimension as it is written: `N`, `64`, or the factors of `8*D`; views into the text.
using DimensionWords = std::vector<std::string_view>;

struct Dimensions {
    std::vector<DimensionWords> of_params;  // each dimension of each parameter
    std::vector<DimensionWords> elsewhere;  // outputs, constraints, views, `over:`, index, extent
};

// `text` should compile; parts that do not parse are left out.
Dimensions find_dimensions(std::string_view text);

}  // namespace fact::dsl
