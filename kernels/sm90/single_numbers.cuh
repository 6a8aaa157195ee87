// What the tensor cores multiply instead of f32 numbers ("single" precision): two f16 parts of
// each, as accurate as f32 arithmetic, or one f16 number, which has as many bits as a TF32 number
// and is multiplied twice as fast.
#pragma once

#include "f16_parts.cuh"
#include "wgmma.cuh"

namespace fact::sm90 {

// The address of an element in a 32-deep tile of A in shared memory, 128-byte swizzled.
template <Major kMajor>
__device__ inline float const* element(unsigned char const* tile, int row, int k) {
    int const outer = kMajor == Major::k ? row : k;
    int const inner = kMajor == Major::k ? k : row % 32;
    int const slab = kMajor == Major::k ? 0 : row / 32 * (32 * 128);
    int const chunk = (inner / 4) ^ (outer & 7);
    return reinterpret_cast<float const*>(tile + slab + outer * 128 + chunk * 16) + inner % 4;
}

// The numbers of A that a lane multiplies, in one of the two 16-deep steps of a k-tile.
template <Major kMajorA>
struct LaneNumbers {
    // The position of `k` among the 32 numbers of a block of prepared B. If A is contiguous along
    // K, a lane loads four neighbours at once, without bank conflicts: the products then see K in
    // another order, and B has to have the same.
    __device__ static int position(int k) {
        if constexpr (kMajorA == Major::mn) return k;
        return k / 4 % 2 * 16 + k / 8 * 2 + k / 2 % 2 * 8 + k % 2;
    }

    // Loads the lane's numbers of one row in one step.
    __device__ static void load(unsigned char const* tile, int row, int quad, int step,
                                float (&x)[4]) {
        if constexpr (kMajorA == Major::k) {
            float4 const four =
                *reinterpret_cast<float4 const*>(element<kMajorA>(tile, row, quad * 8 + step * 4));
            x[0] = four.x, x[1] = four.y, x[2] = four.z, x[3] = four.w;
        } else {
#pragma unroll
            for (int j = 0; j < 4; ++j)  // the swizzle repeats every eight rows
                x[j] = element<kMajorA>(tile, row, quad * 2 + j % 2)[(step * 16 + j / 2 * 8) * 32];
        }
    }
};

// The largest magnitude in a row, whose numbers are in four neighbouring lanes.
template <int kCount>
__device__ inline float row_maximum(float const (&x)[2][kCount]) {
    float most = 0.f;
#pragma unroll
    for (auto const& step : x)
#pragma unroll
        for (float value : step) most = fmaxf(most, fabsf(value));
    most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, 1));
    return fmaxf(most, __shfl_xor_sync(0xffffffff, most, 2));
}

// Two f16 parts, three products, the small ones first. A is scaled by row and k-tile, B by row.
// A row of prepared B holds 32 large parts and then the 32 small ones.
template <Major kMajorA>
struct SplitNumbers : LaneNumbers<kMajorA> {
    static constexpr int kParts = 2;

    struct Fragment {
        uint32_t large[2][4], small[2][4];
        float down[2];  // undoes the scale of rows 0 and 8

        __device__ void read(unsigned char const* tile, int row, int quad) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                float x[2][4];
#pragma unroll
                for (int step = 0; step < 2; ++step)
                    SplitNumbers::load(tile, row + 8 * half, quad, step, x[step]);
                PowerOfTwo const scale = PowerOfTwo::to_f16_range(row_maximum(x));
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
            products<kN>(large, advanced(large_b, 64), tile, true);
            products<kN>(large, large_b, tile, true);
        }

        // The sum and a k-tile's sum, whose scale is undone.
        __device__ float added(float sum, float tile, int half) const {
            return fmaf(tile, down[half], sum);
        }

      private:
        template <int kN>
        __device__ static void products(uint32_t const (&a)[2][4], uint64_t b,
                                        float (&tile)[kN / 2], bool accumulate) {
#pragma unroll
            for (int step = 0; step < 2; ++step)
                sm90::multiply<RegisterHalfProduct<half, kN, Major::k>>(
                    a[step], advanced(b, step * 32), tile, accumulate || step > 0);
        }
    };
};

// One f16 number, with as many bits as a TF32 number, and one product. Powers of two make up for
// the smaller range: one per row of B, one per row and stretch of K of A, so that the tensor cores
// keep their sums from k-tile to k-tile. A row of A starts with the scale of its first k-tile, with
// room for numbers 2^6 times as large; if larger ones come, its scale and its sums are lowered. A
// number below 2^-23 of the row's largest so far loses some of the ten bits that TF32 would keep:
// its error is up to 2^-34 of that largest.
template <Major kMajorA>
struct Tf32Numbers : LaneNumbers<kMajorA> {
    static constexpr int kParts = 1, kRoom = 5;  // to_f16_range leaves one power of two besides

    // The scales of two rows of A, eight rows apart.
    struct RowScales {
        float up[2];
        __device__ float down(int half) const {
            return __uint_as_float((254u << 23) - __float_as_uint(up[half]));
        }
    };

    // A lane's numbers of one k-tile, not yet converted.
    struct Loaded {
        float x[2][2][4];

        __device__ void load(unsigned char const* tile, int row, int quad) {
#pragma unroll
            for (int half = 0; half < 2; ++half)
#pragma unroll
                for (int step = 0; step < 2; ++step)
                    Tf32Numbers::load(tile, row + 8 * half, quad, step, x[half][step]);
        }
        __device__ RowScales scales() const {
            RowScales all;
#pragma unroll
            for (int half = 0; half < 2; ++half)
                all.up[half] = PowerOfTwo::to_f16_range<kRoom>(row_maximum(x[half])).up;
            return all;
        }
    };

    struct Fragment {
        uint32_t words[2][4];

        // Returns whether every number is within f16's range: 0 * x is not 0 if x is infinite.
        __device__ bool convert(Loaded const& from, RowScales const& scales) {
            uint32_t nonzero_bits = 0;
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                __half2 zeros = __float2half2_rn(0.f);
#pragma unroll
                for (int step = 0; step < 2; ++step)
#pragma unroll
                    for (int pair = 0; pair < 2; ++pair) {
                        float const* x = from.x[half][step] + 2 * pair;
                        __half2 const both =
                            __floats2half2_rn(x[0] * scales.up[half], x[1] * scales.up[half]);
                        zeros = __hfma2(both, __float2half2_rn(0.f), zeros);
                        words[step][2 * pair + half] = reinterpret_cast<uint32_t const&>(both);
                    }
                nonzero_bits |= reinterpret_cast<uint32_t const&>(zeros);
            }
            return nonzero_bits == 0;
        }

        // The registers are written before this point; the asynchronous products read them later.
        __device__ void pin() {
#pragma unroll
            for (auto& step : words)
#pragma unroll
                for (uint32_t& word : step) cute::warpgroup_fence_operand(word);
        }

        template <int kN>
        __device__ void multiply(unsigned char const* b, float (&sums)[kN / 2],
                                 bool accumulate) const {
            uint64_t const rows = descriptor<64>(b, 16);
#pragma unroll
            for (int step = 0; step < 2; ++step)
                sm90::multiply<RegisterHalfProduct<half, kN, Major::k>>(
                    words[step], advanced(rows, step * 32), sums, accumulate || step > 0);
        }
    };
};

}  // namespace fact::sm90
