// An f32 number as f16 numbers: the power of two that brings a row into f16's range, and the parts.
#pragma once

#include "../common/numbers.cuh"

namespace fact::sm90 {

// The power of two that brings numbers of at most `most` near the top of f16's range, `kRoom`
// powers of two below it, and its inverse. Two f16 parts without room hold 22 bits of every number
// down to 2^-16 of the largest. Smaller ones have an error of up to 2^-40 of the largest, which
// matters if the largest itself is multiplied by zero.
struct PowerOfTwo {
    float up, down;
    template <int kRoom = 0>
    __device__ static PowerOfTwo to_f16_range(float most) {
        constexpr unsigned kTop = 127 + 14 - kRoom, kBias = 127,
                           kLargest = 253;  // up and down stay normal
        unsigned const exponent = __float_as_uint(most) >> 23;
        unsigned const up = min(kTop + kBias - exponent, kLargest);
        return {__uint_as_float(up << 23), __uint_as_float((2 * kBias - up) << 23)};
    }
};

// The nearest f16 numbers of two neighbours, and those of the remainders.
struct F16Parts {
    uint32_t large, small;
    __device__ static F16Parts of(float x, float y) {
        __half2 const large = __floats2half2_rn(x, y);
        float2 const taken = __half22float2(large);
        __half2 const small = __floats2half2_rn(x - taken.x, y - taken.y);
        return {reinterpret_cast<uint32_t const&>(large), reinterpret_cast<uint32_t const&>(small)};
    }
};

// The inverse scales of B's rows: [batch][N], with the start of each batch aligned.
struct RowScalesOfB {
    float const* data;
    __device__ static int64_t pitch(int n) { return (n + 3) / 4 * 4; }
};

}  // namespace fact::sm90
