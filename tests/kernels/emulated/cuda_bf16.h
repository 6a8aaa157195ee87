// bf16 on the host, as CUDA spells it.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

struct __nv_bfloat16 {
    std::uint16_t bits;
};
struct __nv_bfloat162 {
    __nv_bfloat16 x, y;
};

inline std::uint32_t __float_as_uint(float x) {
    return std::bit_cast<std::uint32_t>(x);
}
inline float __uint_as_float(std::uint32_t bits) {
    return std::bit_cast<float>(bits);
}
inline float __bfloat162float(__nv_bfloat16 x) {
    return __uint_as_float(std::uint32_t{x.bits} << 16);
}
// To nearest even; NaN is not asked for.
inline __nv_bfloat16 __float2bfloat16_rn(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    if (std::isnan(x)) return {0x7fff};
    return {static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
    return {__float2bfloat16_rn(x), __float2bfloat16_rn(y)};
}
inline std::uint16_t __bfloat16_as_ushort(__nv_bfloat16 x) {
    return x.bits;
}

inline float __expf(float x) {
    return std::exp(x);
}
inline float __fdividef(float x, float y) {
    return x / y;
}
inline float __fdiv_rn(float x, float y) {
    return x / y;
}
inline float rsqrtf(float x) {
    return 1 / std::sqrt(x);
}
