// The softmax of attention, a block of columns at a time, on accumulators in their own order: value
// i of a lane lies in column group i / 4, row half (i % 4) / 2.
#pragma once

#include <cmath>
#include <cstdint>

#include "../common/operands.cuh"

namespace fact::sm90 {

inline constexpr float kLog2e = 1.4426950408889634f;

// Where a lane's first score lies.
template <int kBatches>
struct ScorePlace {
    int row, column;
    int const (&batch)[kBatches];
};

struct NoBias {};
// Added to every score after scaling; strides are 0 along dimensions it lacks.
template <class T, int kBatches = 2>
struct ScoreBias {
    T const* data;
    int64_t row_stride, column_stride, batch_strides[kBatches];

    __device__ float operator()(int row, int column, int const (&batch)[kBatches]) const {
        return widen(
            data[row * row_stride + column * column_stride + batch_offset(batch, batch_strides)]);
    }
};

// Scales scores to powers of two, adds the bias, hides what a row does not see.
template <class Config, class Bias, int kBatches, int kCount>
__device__ void finish_scores(float (&scores)[kCount], ScorePlace<kBatches> const& at, int rows,
                              int columns, Bias const& bias) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
        int const row = at.row + 8 * ((i % 4) / 2), column = at.column + 8 * (i / 4) + i % 2;
        float x = scores[i] * (Config::kScale * kLog2e);
        bool seen = column < columns;
        if (Config::kCausal) seen = seen && column <= row;
        if constexpr (Config::kBias)
            if (seen && row < rows) x += kLog2e * bias(row, column, at.batch);
        scores[i] = seen ? x : -INFINITY;
    }
}

__device__ inline float power_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// Two rows a lane: the largest score so far, and the sum of powers relative to it.
struct RunningSoftmax {
    float largest[2] = {-INFINITY, -INFINITY}, sum[2] = {0.f, 0.f};

    // Scores become weights; `shrink` is what everything summed before is multiplied by.
    template <int kCount>
    __device__ void take(float (&scores)[kCount], float (&shrink)[2]) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float top = largest[half];
#pragma unroll
            for (int i = half * 2; i < kCount; i += 4)
                top = fmaxf(top, fmaxf(scores[i], scores[i + 1]));
            top = fmaxf(top, __shfl_xor_sync(0xffffffff, top, 1));
            top = fmaxf(top, __shfl_xor_sync(0xffffffff, top, 2));
            float const base = top == -INFINITY ? 0.f : top;  // a row may see nothing yet
            shrink[half] = power_of_two(largest[half] - base);
            largest[half] = top;
            float added = 0.f;
#pragma unroll
            for (int i = half * 2; i < kCount; i += 4)
#pragma unroll
                for (int j = i; j < i + 2; ++j) {
                    scores[j] = power_of_two(scores[j] - base);
                    added += scores[j];
                }
            sum[half] = sum[half] * shrink[half] + added;
        }
    }

    // What the weighted sums are multiplied by at the end. A row that saw nothing gives NaN.
    __device__ void finish(float (&inverse)[2]) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float all = sum[half];
            all += __shfl_xor_sync(0xffffffff, all, 1);
            all += __shfl_xor_sync(0xffffffff, all, 2);
            inverse[half] = all == 0.f ? NAN : 1.f / all;
        }
    }
};

template <int kCount>
__device__ void scale_rows(float (&values)[kCount], float const (&by)[2]) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) values[i] *= by[(i % 4) / 2];
}

// Accumulators of scores are, pair by pair, the left operand of the next product.
template <class Element, int kCount, int kSteps>
__device__ void as_operand(float const (&weights)[kCount], uint32_t (&to)[kSteps][4]) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            int const at = (step * 2 + i / 2) * 4 + i % 2 * 2;
            to[step][i] = pack(weights[at], weights[at + 1], Element{});
        }
}

}  // namespace fact::sm90
