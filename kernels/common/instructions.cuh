// GPU instructions that CUDA has no function for. Host code gets the same values by other means, so
// that what is built on them can be tested without a GPU.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace fact {

#ifdef __CUDA_ARCH__

// The power of two and the reciprocal have a relative error of about 2^-22; results below the
// smallest normal number are 0.
__device__ inline float power_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
__device__ inline float reciprocal(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// As accurate, and correct even for results below the smallest normal number: of numbers that are
// not below it themselves.
__device__ inline float reciprocal_with_subnormals(float x) {
    float const scale = x > 0x1p125f ? 0.25f : 1.f;  // the reciprocal of a huge number is tiny
    return scale * reciprocal(x * scale);
}

// Its relative error is 2^-11.
__device__ inline float fast_tanh(float x) {
    float y;
    asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// NaN if either argument is NaN.
__device__ inline float min_or_nan(float x, float y) {
    float least;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(least) : "f"(x), "f"(y));
    return least;
}
__device__ inline float max_or_nan(float x, float y) {
    float most;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(most) : "f"(x), "f"(y));
    return most;
}

// The nearest TF32 number, as the tensor cores read it.
__device__ inline uint32_t to_tf32(float x) {
    uint32_t bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return bits;
}

#else

__device__ inline float power_of_two(float x) {
    return exp2f(x);
}
__device__ inline float reciprocal(float x) {
    return 1.f / x;
}
__device__ inline float reciprocal_with_subnormals(float x) {
    return 1.f / x;
}
__device__ inline float fast_tanh(float x) {
    return tanhf(x);
}
__device__ inline float min_or_nan(float x, float y) {
    return x != x || x < y ? x : y;
}
__device__ inline float max_or_nan(float x, float y) {
    return x != x || x > y ? x : y;
}
__device__ inline uint32_t to_tf32(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits + 0x1000) & ~0x1fffu;  // drops 13 of the 23 bits of the fraction, rounded
}

#endif

}  // namespace fact
