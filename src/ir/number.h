// Element types in memory: reading as f64, and rounding from f64 without rounding twice.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "support/result.h"
#include "target/dtype.h"

namespace fact::ir {

inline float f32_from_bf16(std::uint16_t bits) {
    return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

inline float f32_from_f16(std::uint16_t bits) {
    const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1f, fraction = bits & 0x3ff;
    if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
    if (exponent != 0)  // 112: the difference of the two types' exponent biases, 127 and 15
        return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;  // subnormal, exact
    return sign ? -magnitude : magnitude;
}

// Rounds to nearest even; overflow becomes infinite, NaN stays NaN.
inline std::uint16_t bf16_from_f32(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    // The bit is set so that the fraction is not 0, which would be an infinity.
    if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
    return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// The same for f16.
inline std::uint16_t f16_from_f32(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return sign | 0x7e00u;   // NaN
    if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // rounds past the largest, 65504
    if (magnitude < 0x38800000u) {
        // Below 2^-14, so subnormal: adding 0.5 leaves the rounded multiple of 2^-24 in the low
        // bits.
        const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
        return sign |
               static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u);
    }
    const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    return sign | static_cast<std::uint16_t>((rounded - 0x38000000u) >> 13);
}

// Rounds to odd: a later rounding to a type at least two bits narrower then gives the same result
// as rounding the f64 directly.
inline float f32_to_odd(double value) {
    const float nearest = static_cast<float>(value);
    if (static_cast<double>(nearest) == value || std::isnan(value)) return nearest;
    auto bits = std::bit_cast<std::uint32_t>(nearest);
    if (std::abs(static_cast<double>(nearest)) > std::abs(value)) --bits;
    return std::bit_cast<float>(bits | 1u);
}

inline std::uint16_t bf16_from_f64(double value) {
    return bf16_from_f32(f32_to_odd(value));
}
inline std::uint16_t f16_from_f64(double value) {
    return f16_from_f32(f32_to_odd(value));
}

// Toward zero, clamped to the type's range; NaN gives 0.
template <class Int>
Int integer_from_f64(double value) {
    constexpr auto low = std::numeric_limits<Int>::min(), high = std::numeric_limits<Int>::max();
    if (std::isnan(value)) return 0;
    if (value <= static_cast<double>(low)) return low;
    if (value >= static_cast<double>(high)) return high;
    return static_cast<Int>(value);
}

// The value rounded to the type.
inline double round_to(double value, DType dtype) {
    switch (dtype) {
        case DType::boolean:
            return value != 0 ? 1 : 0;
        case DType::u8:
            return integer_from_f64<std::uint8_t>(value);
        case DType::i8:
            return integer_from_f64<std::int8_t>(value);
        case DType::i16:
            return integer_from_f64<std::int16_t>(value);
        case DType::i32:
            return integer_from_f64<std::int32_t>(value);
        case DType::i64:
            return static_cast<double>(integer_from_f64<std::int64_t>(value));
        case DType::f16:
            return f32_from_f16(f16_from_f64(value));
        case DType::bf16:
            return f32_from_bf16(bf16_from_f64(value));
        case DType::f32:
            return static_cast<float>(value);
        case DType::f64:
            return value;
    }
    throw InternalError("rounding to an unknown element type");
}

// Reads `count` elements from `offset` on, `stride` elements apart, as f64.
void load(const void* data, DType dtype, std::int64_t offset, std::int64_t stride,
          std::int64_t count, double* out);
// Writes `count` elements in the same way, rounded to the type.
void store(void* data, DType dtype, std::int64_t offset, std::int64_t stride, std::int64_t count,
           const double* values);

}  // namespace fact::ir
