// f16 on the host, as CUDA spells it.
#pragma once

#include <cmath>
#include <cstdint>

#include "device.h"

struct half {
    std::uint16_t bits;
};
struct __half2 {
    half x, y;
};

inline float __half2float(half x) {
    const int exponent = x.bits >> 10 & 31, fraction = x.bits & 1023;
    const float size = exponent == 31 ? (fraction ? NAN : INFINITY)
                       : exponent == 0
                           ? std::ldexp(static_cast<float>(fraction), -24)
                           : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
    return x.bits >> 15 ? -size : size;
}
// To nearest even.
inline half __float2half_rn(float x) {
    const int sign = std::signbit(x) ? 0x8000 : 0;
    const float size = std::fabs(x);
    if (std::isnan(x)) return {0x7fff};
    if (size >= 65520.f) return {static_cast<std::uint16_t>(sign | 0x7c00)};
    const int exponent = size == 0.f ? -14 : std::max(std::ilogb(size), -14);
    const int units = static_cast<int>(std::nearbyint(std::ldexp(size, 10 - exponent)));
    return {static_cast<std::uint16_t>(sign | ((exponent + 14) * 1024 + units))};
}
inline __half2 __floats2half2_rn(float x, float y) {
    return {__float2half_rn(x), __float2half_rn(y)};
}
inline std::uint16_t __half_as_ushort(half x) {
    return x.bits;
}
inline half __ushort_as_half(std::uint16_t bits) {
    return {bits};
}
inline float2 __half22float2(__half2 x) {
    return {__half2float(x.x), __half2float(x.y)};
}
