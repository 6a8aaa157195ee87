// FACT's own version.
#pragma once

#include <string_view>

namespace fact {

inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace fact
