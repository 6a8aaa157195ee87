// Number types of emitted kernels and the pointwise functions of the kernel language.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "instructions.cuh"

namespace fact {

using bf16 = __nv_bfloat16;

// Converts an element to the type that arithmetic is done in: float for floating types (f64 too:
// kernels have no f64 arithmetic), int or int64_t for integers, bool for bool.
__device__ inline float widen(float x) {
    return x;
}
__device__ inline float widen(bf16 x) {
    return __bfloat162float(x);
}
__device__ inline float widen(half x) {
    return __half2float(x);
}
__device__ inline float widen(double x) {
    return static_cast<float>(x);
}
__device__ inline bool widen(bool x) {
    return x;
}
template <class Integer>
__device__ inline auto widen(Integer x) {
    if constexpr (sizeof(Integer) == 8)
        return static_cast<int64_t>(x);
    else
        return static_cast<int>(x);
}

// Two neighbouring results in the output's type, rounded to nearest even.
template <class T>
__device__ inline uint32_t pack(float x, float y);
template <>
__device__ inline uint32_t pack<bf16>(float x, float y) {
    __nv_bfloat162 const pair = __floats2bfloat162_rn(x, y);
    return reinterpret_cast<uint32_t const&>(pair);
}
template <>
__device__ inline uint32_t pack<half>(float x, float y) {
    __half2 const pair = __floats2half2_rn(x, y);
    return reinterpret_cast<uint32_t const&>(pair);
}

// A float in the output's type, rounded to nearest even.
template <class T>
__device__ inline T narrow(float x);
template <>
__device__ inline bf16 narrow<bf16>(float x) {
    return __float2bfloat16_rn(x);
}
template <>
__device__ inline half narrow<half>(float x) {
    return __float2half_rn(x);
}
template <>
__device__ inline float narrow<float>(float x) {
    return x;
}

// Rounds to T and returns to float: what a cast in the kernel text does.
template <class T>
__device__ inline float rounded(float x) {
    return widen(narrow<T>(x));
}

inline constexpr float kLog2e = 1.4426950408889634f;

// Functions precise enough for results of type T: their relative error is a small part of T's
// rounding error, even for tiny results such as the sigmoid far below 0. For bf16, what would be
// below the smallest normal number may be 0.
template <class T>
struct Math {
    __device__ static float tanh(float x) { return ::tanhf(x); }
    __device__ static float exp(float x) { return ::expf(x); }
    __device__ static float divide(float x, float y) { return __fdiv_rn(x, y); }
    // A correctly rounded division would cost more than everything else here and gain nothing: the
    // error of exp dominates.
    __device__ static float sigmoid(float x) { return reciprocal_with_subnormals(1.f + exp(-x)); }
};
template <>
struct Math<half> {
    __device__ static float tanh(float x) { return ::tanhf(x); }
    __device__ static float exp(float x) { return __expf(x); }
    __device__ static float divide(float x, float y) { return __fdividef(x, y); }
    // (1 + tanh(x / 2)) / 2 would need one special function instead of two, but far below 0 the
    // absolute error of tanh.approx (2^-11) exceeds the result itself.
    __device__ static float sigmoid(float x) { return reciprocal(1.f + power_of_two(-kLog2e * x)); }
};
template <>
struct Math<bf16> : Math<half> {
    __device__ static float tanh(float x) { return fast_tanh(x); }
};

// Divides many numbers by one, in a few instructions and no branch, where a division by itself has
// a branch for rare numbers, across which loads and other divisions cannot move. Rounded as such a
// division, but for a few divisors and for results below the smallest normal number, which may be
// the next number.
class Divisor {
  public:
    Divisor() = default;
    // Divisor and dividends are multiplied by `scale_`, so that the reciprocal has all its bits.
    __device__ explicit Divisor(float by)
        : scale_(::fabsf(by) > 0x1p100f    ? 0x1p-64f
                 : ::fabsf(by) < 0x1p-100f ? 0x1p64f
                                           : 1.f),
          inverse_(Math<float>::divide(1.f, by * scale_)),
          by_(inverse_ == 0.f ? 0.f : by * scale_) {}  // no product with infinity
    __device__ float share_of(float x) const {
        float const scaled = x * scale_;
        float const quotient = scaled * inverse_;
        float const rest = fmaf(-by_, quotient, scaled);
        // Infinite or NaN: there is no rest to divide.
        return ::fabsf(quotient) < INFINITY ? fmaf(rest, inverse_, quotient) : quotient;
    }

  private:
    float scale_, inverse_, by_;
};

// The functions of the kernel language, by their names there.
template <class T>
struct Functions {
    using M = Math<T>;
    __device__ static float exp(float x) { return M::exp(x); }
    __device__ static float expm1(float x) { return ::expm1f(x); }
    __device__ static float log(float x) { return ::logf(x); }
    __device__ static float log1p(float x) { return ::log1pf(x); }
    __device__ static float sqrt(float x) { return ::sqrtf(x); }
    __device__ static float rsqrt(float x) { return ::rsqrtf(x); }
    __device__ static float reciprocal(float x) { return M::divide(1.f, x); }
    __device__ static float divide(float x, float y) { return M::divide(x, y); }
    __device__ static float divide(float x, Divisor const& y) { return y.share_of(x); }
    __device__ static float tanh(float x) { return M::tanh(x); }
    __device__ static float erf(float x) { return ::erff(x); }
    __device__ static float abs(float x) { return ::fabsf(x); }
    __device__ static float sigmoid(float x) { return M::sigmoid(x); }
    __device__ static float relu(float x) { return max_or_nan(x, 0.f); }
    __device__ static float gelu(float x) {
        return 0.5f * x * (1.f + ::erff(x * 0.70710678118654752f));
    }
    __device__ static float gelu_tanh(float x) {
        // (1 + tanh(y)) / 2 is a sigmoid of 2 y.
        constexpr float kTwoSqrt2OverPi = 2 * 0.79788456080286536f;
        return x * M::sigmoid(x * fmaf(kTwoSqrt2OverPi * 0.044715f, x * x, kTwoSqrt2OverPi));
    }
    __device__ static float silu(float x) { return x * M::sigmoid(x); }
    __device__ static float softplus(float x) { return x > 20.f ? x : ::log1pf(M::exp(x)); }
    __device__ static float mish(float x) {
        // tanh(log(1 + e^x)) is e^x (e^x + 2) over itself plus 2: one exponential, nothing cancels.
        float const e = M::exp(x);
        float const part = e * (e + 2.f);
        return x > 20.f ? x : x * (part * fact::reciprocal(part + 2.f));
    }
    __device__ static float sin(float x) { return ::sinf(x); }
    __device__ static float cos(float x) { return ::cosf(x); }
    __device__ static float floor(float x) { return ::floorf(x); }
    __device__ static float ceil(float x) { return ::ceilf(x); }
    __device__ static float round(float x) { return ::rintf(x); }
    __device__ static float sign(float x) { return x > 0.f ? 1.f : x < 0.f ? -1.f : x; }
    __device__ static float tf32(float x) {  // ten bits of the fraction stay
        unsigned const bits = (__float_as_uint(x) + 0x1000u) & 0xffffe000u;
        return x == x ? __uint_as_float(bits) : x;
    }
    // NaN if either argument is, as the language says; fminf and fmaxf would drop it.
    __device__ static float min(float x, float y) { return min_or_nan(x, y); }
    __device__ static float max(float x, float y) { return max_or_nan(x, y); }
    __device__ static float pow(float x, float y) { return ::powf(x, y); }
};

}  // namespace fact
