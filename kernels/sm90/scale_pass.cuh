// Writes an f32 operand of attention in the form that scaled_blocks.cuh reads.
#pragma once

#include "../common/loads.cuh"
#include "../common/previous.cuh"
#include "f16_parts.cuh"
#include "operand_source.cuh"

namespace fact::sm90 {

struct ScaledRows {
    half* rows;      // [batch][rows][features]
    float* factors;  // [batch][blocks]
};

inline constexpr int kScaleThreads = 256;

// The largest of all threads' numbers.
__device__ inline float block_maximum(float mine) {
    __shared__ float of_warps[kScaleThreads / 32];
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2)
        mine = fmaxf(mine, __shfl_xor_sync(0xffffffff, mine, lanes));
    __syncthreads();  // maxima of the previous block of rows may still be read
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
    __syncthreads();
    float most = of_warps[0];
#pragma unroll
    for (int warp = 1; warp < kScaleThreads / 32; ++warp) most = fmaxf(most, of_warps[warp]);
    return most;
}

// A thread block takes a block of kRows rows and holds it in registers while it finds the maximum
// and then scales. Rows are contiguous, and have at most kFeatures numbers, a multiple of eight.
template <int kRows, int kFeatures, int kBatches>
__device__ void scale_pass(OperandSourceOf<kBatches> const& source, ScaledRows const& to) {
    constexpr int kOctets = (kFeatures + 7) / 8;  // per row
    // Octets per thread.
    constexpr int kTurns = (kRows * kOctets + kScaleThreads - 1) / kScaleThreads;
    wait_for_previous();
    for (int batch = blockIdx.z; batch < source.count(); batch += gridDim.z) {
        float const* const from = source.matrix(batch);
        auto const place = [&](int turn, int& row, int& feature) {
            int const octet = turn * kScaleThreads + static_cast<int>(threadIdx.x);
            row = static_cast<int>(blockIdx.y) * kRows + octet / kOctets;
            feature = octet % kOctets * 8;
            return octet < kRows * kOctets && row < source.n && feature < source.k;
        };
        float4 numbers[kTurns][2] = {};
        int row, feature;
#pragma unroll
        for (int turn = 0; turn < kTurns; ++turn)
            if (place(turn, row, feature)) {
                float const* const at = from + row * source.n_stride + feature;
#pragma unroll
                for (int half = 0; half < 2; ++half) {
                    uint32_t bits[4];
                    load_words(bits, at + 4 * half);
                    numbers[turn][half] = as_floats(bits);
                }
            }
        float most = 0.f;
#pragma unroll
        for (auto const& octet : numbers)
#pragma unroll
            for (float4 const& x : octet)
                most = fmaxf(most,
                             fmaxf(fmaxf(fabsf(x.x), fabsf(x.y)), fmaxf(fabsf(x.z), fabsf(x.w))));
        PowerOfTwo const factor = PowerOfTwo::to_f16_range(block_maximum(most));
        if (threadIdx.x == 0)
            to.factors[static_cast<int64_t>(batch) * gridDim.y + blockIdx.y] = factor.down;
        half* const rows = to.rows + static_cast<int64_t>(batch) * source.n * source.k;
        auto const pair = [&](float x, float y) {
            __half2 const rounded = __floats2half2_rn(x * factor.up, y * factor.up);
            return reinterpret_cast<uint32_t const&>(rounded);
        };
#pragma unroll
        for (int turn = 0; turn < kTurns; ++turn)
            if (place(turn, row, feature)) {
                float4 const &x = numbers[turn][0], &y = numbers[turn][1];
                *reinterpret_cast<uint4*>(rows + static_cast<int64_t>(row) * source.k + feature) =
                    make_uint4(pair(x.x, x.y), pair(x.z, x.w), pair(y.x, y.y), pair(y.z, y.w));
            }
    }
}

}  // namespace fact::sm90
