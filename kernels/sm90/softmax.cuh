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

// Adds the bias, scaled to powers of two; without one, scores stay as they are.
template <class Config, class Bias, int kBatches, int kCount>
__device__ void finish_scores(float (&scores)[kCount], ScorePlace<kBatches> const& at, int rows,
                              int columns, Bias const& bias) {
    if constexpr (Config::kBias) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
            int const row = at.row + 8 * ((i % 4) / 2), column = at.column + 8 * (i / 4) + i % 2;
            scores[i] *= Config::kScale * kLog2e;
            if (row < rows && column < columns) scores[i] += kLog2e * bias(row, column, at.batch);
        }
    }
}

// Hides what a row does not see.
template <class Config, int kBatches, int kCount>
__device__ void hide(float (&scores)[kCount], ScorePlace<kBatches> const& at, int columns) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        int const seen = Config::kCausal ? min(columns, at.row + 8 * half + 1) : columns;
        int const left = seen - at.column;
#pragma unroll
        for (int i = 0; i < kCount; i += 4)
#pragma unroll
            for (int j = 0; j < 2; ++j)
                if (2 * i + j >= left) scores[i + half * 2 + j] = -INFINITY;
    }
}

__device__ inline float power_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// Two rows a lane: a score near the largest so far, and the sum of powers relative to it.
template <class Config>
struct RunningSoftmax {
    // What brings scores to powers of two; where there is a bias, that is done already.
    static constexpr float kUnit = Config::kBias ? 1.f : Config::kScale * kLog2e;
    // Sums are only rescaled where weights would exceed two to this: that is rarely after the
    // first block, and f16 holds such weights too.
    static constexpr float kMostPower = 8.f;
    float base[2] = {-INFINITY, -INFINITY}, sum[2] = {0.f, 0.f};
    float shrink[2];  // what everything summed before the last block is multiplied by
    bool shrinks;     // for the whole warp

    // Scores become weights.
    template <int kCount>
    __device__ void take(float (&scores)[kCount]) {
        float top[2];
        bool exceeds = false;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            top[half] = base[half];
#pragma unroll
            for (int i = half * 2; i < kCount; i += 4)
                top[half] = fmaxf(top[half], fmaxf(scores[i], scores[i + 1]));
            top[half] = fmaxf(top[half], __shfl_xor_sync(0xffffffff, top[half], 1));
            top[half] = fmaxf(top[half], __shfl_xor_sync(0xffffffff, top[half], 2));
            exceeds = exceeds || (top[half] - base[half]) * kUnit > kMostPower;
        }
        shrinks = __any_sync(0xffffffff, exceeds);
        if (shrinks) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                // A row may have seen nothing yet.
                shrink[half] =
                    base[half] == -INFINITY ? 0.f : power_of_two((base[half] - top[half]) * kUnit);
                base[half] = top[half];
                sum[half] *= shrink[half];
            }
        }
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float const zero = base[half] == -INFINITY ? 0.f : base[half] * kUnit;
            float added = 0.f;
#pragma unroll
            for (int i = half * 2; i < kCount; i += 4)
#pragma unroll
                for (int j = i; j < i + 2; ++j) {
                    scores[j] = power_of_two(fmaf(scores[j], kUnit, -zero));
                    added += scores[j];
                }
            sum[half] += added;
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

// Accumulators of scores are, pair by pair, the left operand of the next product; what there is no
// score for is zero.
template <class Element, int kCount, int kSteps>
__device__ void as_operand(float const (&weights)[kCount], uint32_t (&to)[kSteps][4]) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            int const at = (step * 2 + i / 2) * 4 + i % 2 * 2;
            to[step][i] = at < kCount ? pack(weights[at], weights[at + 1], Element{}) : 0;
        }
}

}  // namespace fact::sm90
