// What the tensor cores multiply in place of f32 numbers: two f16 parts of each, as accurate as f32
// arithmetic, or the nearest TF32 number.
#pragma once

#include "wgmma.cuh"

namespace fact::sm90 {

// The element of a 32-deep tile of A in shared memory, 128-byte swizzled.
template <Major kMajor>
__device__ inline float const* element(unsigned char const* tile, int row, int k) {
    int const outer = kMajor == Major::k ? row : k;
    int const inner = kMajor == Major::k ? k : row % 32;
    int const slab = kMajor == Major::k ? 0 : row / 32 * (32 * 128);
    int const chunk = (inner / 4) ^ (outer & 7);
    return reinterpret_cast<float const*>(tile + slab + outer * 128 + chunk * 16) + inner % 4;
}

// A power of two that brings numbers of at most `most` near the top of f16's range, and its
// inverse: then two f16 parts hold 22 bits of every number down to 2^-16 of the largest. Smaller
// ones lose up to 2^-40 of the largest, which shows where the largest itself meets a zero.
struct PowerOfTwo {
    float up, down;
    __device__ static PowerOfTwo to_f16_range(float most) {
        constexpr unsigned kTop = 127 + 14, kBias = 127, kLargest = 253;  // both stay normal
        unsigned const exponent = __float_as_uint(most) >> 23;
        unsigned const up = min(kTop + kBias - exponent, kLargest);
        return {__uint_as_float(up << 23), __uint_as_float((2 * kBias - up) << 23)};
    }
};

// The nearest f16 numbers of two neighbours, and what is left of them.
struct F16Parts {
    uint32_t large, small;
    __device__ static F16Parts of(float x, float y) {
        __half2 const large = __floats2half2_rn(x, y);
        float2 const taken = __half22float2(large);
        __half2 const small = __floats2half2_rn(x - taken.x, y - taken.y);
        return {reinterpret_cast<uint32_t const&>(large), reinterpret_cast<uint32_t const&>(small)};
    }
};

// Two f16 parts, three products, the small ones first. A is scaled by row and k-tile, B by row.
// A row of prepared B holds 32 large parts and then the 32 small ones.
template <Major kMajorA>
struct SplitNumbers {
    static constexpr bool kScaled = true;
    struct Scales {
        float const* data;
    };

    // Where k of a block of 32 lies among the large parts. Where A is contiguous along K a lane
    // takes four neighbours at once, and no two lanes that load together the same banks: the
    // products then see K in another order.
    __device__ static int position(int k) {
        if constexpr (kMajorA == Major::mn) return k;
        return k / 4 % 2 * 16 + k / 8 * 2 + k / 2 % 2 * 8 + k % 2;
    }

    struct Fragment {
        uint32_t large[2][4], small[2][4];
        float down[2];  // undoes the scale of rows 0 and 8

        __device__ void read(unsigned char const* tile, int row, int quad) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                float x[2][4];
                float most = 0.f;
#pragma unroll
                for (int step = 0; step < 2; ++step) {
                    load(tile, row + 8 * half, quad, step, x[step]);
#pragma unroll
                    for (float value : x[step]) most = fmaxf(most, fabsf(value));
                }
                most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, 1));
                most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, 2));
                PowerOfTwo const scale = PowerOfTwo::to_f16_range(most);
                down[half] = scale.down;
#pragma unroll
                for (int step = 0; step < 2; ++step)
#pragma unroll
                    for (int pair = 0; pair < 2; ++pair) {
                        F16Parts const parts = F16Parts::of(x[step][2 * pair] * scale.up,
                                                            x[step][2 * pair + 1] * scale.up);
                        large[step][2 * pair + half] = parts.large;
                        small[step][2 * pair + half] = parts.small;
                    }
            }
        }

        __device__ void pin() {
#pragma unroll
            for (int step = 0; step < 2; ++step)
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    cute::warpgroup_fence_operand(large[step][e]);
                    cute::warpgroup_fence_operand(small[step][e]);
                }
        }

        template <int kN>
        __device__ void multiply(unsigned char const* b, float (&tile)[kN / 2]) const {
            uint64_t const large_b = descriptor(b, 16);
            products<kN>(small, large_b, tile, false);
            products<kN>(large, further(large_b, 64), tile, true);
            products<kN>(large, large_b, tile, true);
        }

        __device__ float added(float sum, float tile, int half) const {
            return fmaf(tile, down[half], sum);
        }

      private:
        // The four numbers of a row that a lane multiplies in one 16-deep step.
        __device__ static void load(unsigned char const* tile, int row, int quad, int step,
                                    float (&x)[4]) {
            if constexpr (kMajorA == Major::k) {
                float4 const four = *reinterpret_cast<float4 const*>(
                    element<kMajorA>(tile, row, quad * 8 + step * 4));
                x[0] = four.x, x[1] = four.y, x[2] = four.z, x[3] = four.w;
            } else {
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    x[j] = *element<kMajorA>(tile, row, step * 16 + quad * 2 + j / 2 * 8 + j % 2);
            }
        }

        template <int kN>
        __device__ static void products(uint32_t const (&a)[2][4], uint64_t b,
                                        float (&tile)[kN / 2], bool accumulate) {
#pragma unroll
            for (int step = 0; step < 2; ++step)
                sm90::multiply<RegisterHalfProduct<half, kN, Major::k>>(
                    a[step], further(b, step * 32), tile, accumulate || step > 0);
        }
    };
};

// One TF32 product of the nearest TF32 numbers.
template <Major kMajorA>
struct Tf32Numbers {
    static constexpr bool kScaled = false;
    struct Scales {};
    __device__ static int position(int k) { return k; }

    struct Fragment {
        uint32_t values[4][4];

        __device__ void read(unsigned char const* tile, int row, int quad) {
#pragma unroll
            for (int step = 0; step < 4; ++step)
#pragma unroll
                for (int e = 0; e < 4; ++e)
                    values[step][e] = to_tf32(
                        *element<kMajorA>(tile, row + 8 * (e % 2), step * 8 + quad + 4 * (e / 2)));
        }

        __device__ void pin() {
#pragma unroll
            for (auto& step : values)
#pragma unroll
                for (uint32_t& word : step) cute::warpgroup_fence_operand(word);
        }

        template <int kN>
        __device__ void multiply(unsigned char const* b, float (&tile)[kN / 2]) const {
            uint64_t const rows = descriptor(b, 16);
#pragma unroll
            for (int step = 0; step < 4; ++step)
                sm90::multiply<RegisterProduct<kN>>(values[step], further(rows, step * 32), tile,
                                                    step > 0);
        }

        __device__ float added(float sum, float tile, int) const { return sum + tile; }
    };
};

}  // namespace fact::sm90
