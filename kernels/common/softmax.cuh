// The softmax of attention, a block of columns at a time, on accumulators in their own order: value
// i of a lane lies in column group i / 4, row half (i % 4) / 2.
#pragma once

#include <cmath>
#include <cstdint>

#include "operands.cuh"
#include "sight.cuh"

namespace fact {

// What scores are multiplied by here; where there is a cap (kCap is not 0) they are scaled already.
template <class Config>
inline constexpr float kScaleLeft = Config::kCap > 0.f ? 1.f : Config::kScale;

struct NoBias {};

// What is added to a block's scores, asked for while their products run: the functor gives a number
// for every place.
template <class Config, class Bias, int kBatches, int kCount>
struct BlockBias {
    static constexpr int kSlabs = kCount / kSlabValues;
    typename Bias::Fetched slabs[kSlabs];

    __device__ BlockBias(Bias const& bias, SlabOf<kBatches> const& first) {
#pragma unroll
        for (int s = 0; s < kSlabs; ++s) slabs[s] = bias.fetch(slab(first, s));
    }
    // `unit`: what scores are multiplied by.
    __device__ void add_to(float (&scores)[kCount], float unit, Bias const& bias,
                           SlabOf<kBatches> const& first) const {
#pragma unroll
        for (int s = 0; s < kSlabs; ++s)
#pragma unroll
            for (int i = 0; i < kSlabValues; ++i) {
                float& score = scores[s * kSlabValues + i];
                score = fmaf(score, unit, bias(0.f, slabs[s], slab(first, s), i));
            }
    }

  private:
    __device__ static SlabOf<kBatches> slab(SlabOf<kBatches> const& first, int s) {
        return {first.row, first.column + s * kSlabColumns, first.batch, first.extents};
    }
};
template <class Config, int kBatches, int kCount>
struct BlockBias<Config, NoBias, kBatches, kCount> {
    __device__ BlockBias(NoBias const&, SlabOf<kBatches> const&) {}
    __device__ void add_to(float (&)[kCount], float, NoBias const&, SlabOf<kBatches> const&) const {
    }
};

// Hides what a row does not see.
template <class Config, int kBatches, int kCount>
__device__ void hide(float (&scores)[kCount], SlabOf<kBatches> const& at) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        int const row = at.row + 8 * half;
        int const skipped = SightOf<Config>::first(row) - at.column;
        int const left = SightOf<Config>::end(row, at.extents.n) - at.column;
#pragma unroll
        for (int i = 0; i < kCount; i += 4)
#pragma unroll
            for (int j = 0; j < 2; ++j)
                if (2 * i + j >= left || (SightOf<Config>::kSkips && 2 * i + j < skipped))
                    scores[i + half * 2 + j] = -INFINITY;
    }
}

// Two rows a lane: the largest score so far, and the sum of powers relative to it. The largest
// weight of a row is exactly one, so that rounding spares it: a base that may lag behind, to
// rescale less often, is up to 6 % faster, but a row that looks at one column is then off by half a
// bit.
template <class Config>
struct RunningSoftmax {
    // What brings scores to powers of two; with a bias they are scaled already.
    static constexpr float kUnit = Config::kBias ? kLog2e : kScaleLeft<Config> * kLog2e;
    float base[2] = {-INFINITY, -INFINITY}, sum[2] = {0.f, 0.f};
    float shrink[2];  // what everything summed before the last block is multiplied by
    bool shrinks;     // for the whole warp

    // Scores become weights; `by`: what the block's scores are multiplied by, beside their unit.
    template <int kCount>
    __device__ void take(float (&scores)[kCount], float by) {
        float top[2];
        bool rises = false;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float most = -INFINITY;
#pragma unroll
            for (int i = half * 2; i < kCount; i += 4)
                most = fmaxf(most, fmaxf(scores[i], scores[i + 1]));
            top[half] = fmaxf(base[half], most * by);
            top[half] = fmaxf(top[half], __shfl_xor_sync(0xffffffff, top[half], 1));
            top[half] = fmaxf(top[half], __shfl_xor_sync(0xffffffff, top[half], 2));
            rises = rises || top[half] > base[half];
        }
        shrinks = __any_sync(0xffffffff, rises);
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
            float const zero = base[half] == -INFINITY ? 0.f : base[half];
            float const unit = by * unit_beside(zero), power = zero * unit_beside(zero);
            float added = 0.f;
#pragma unroll
            for (int i = half * 2; i < kCount; i += 4)
#pragma unroll
                for (int j = i; j < i + 2; ++j) {
                    scores[j] = power_of_two(fmaf(scores[j], unit, -power));
                    added += scores[j];
                }
            sum[half] += added;
        }
    }

    // A base times its unit is rounded, by no more than scores of its size are. A mask may be so
    // low that this is no power of two any more: beside such numbers scores are equal or far apart,
    // and their differences are taken exactly.
    __device__ static float unit_beside(float base) {
        return Config::kBias && fabsf(base) > 0x1p28f ? 1.f : kUnit;
    }

    // What the weighted sums are multiplied by at the end.
    __device__ void finish(float (&inverse)[2]) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float& all = sum[half];
            all += __shfl_xor_sync(0xffffffff, all, 1);
            all += __shfl_xor_sync(0xffffffff, all, 2);
            inverse[half] = all == 0.f ? (Config::kZeroUnseen ? 0.f : NAN) : 1.f / all;
        }
    }

    // Of the scores' exponentials, after the end; -inf where nothing was seen.
    __device__ float log_sum(int half) const {
        return base[half] * (Config::kBias ? 1.f : kScaleLeft<Config>)+logf(sum[half]);
    }
};

// Where the logarithms of sums go, one for each row.
template <int kBatches>
struct LogSumsOf {
    float* data;
    int64_t stride, batch_strides[kBatches];

    // `at`: where the lane's values begin.
    template <class Config>
    __device__ void store(RunningSoftmax<Config> const& softmax, SlabOf<kBatches> const& at) const {
        if (threadIdx.x % 4 != 0) return;  // the others have the same
        float* const to = data + batch_offset(at.batch, batch_strides);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            int const row = at.row + 8 * half;
            if (row < at.extents.m) to[row * stride] = softmax.log_sum(half);
        }
    }
};
using LogSums = LogSumsOf<2>;

struct NoLogSums {
    template <class Softmax, class Slab>
    __device__ void store(Softmax const&, Slab const&) const {}
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

}  // namespace fact
