// Division of whole numbers that rounds up.
#pragma once

#include <concepts>

namespace fact {

// For a >= 0 and b > 0.
template <std::integral A, std::integral B>
constexpr auto ceil_div(A a, B b) {
    return (a + b - 1) / b;
}

// The smallest multiple of `of` that is at least `a`.
template <std::integral A, std::integral B>
constexpr auto round_up(A a, B of) {
    return ceil_div(a, of) * of;
}

}  // namespace fact
