// The softmax of attention, one block of columns at a time, on accumulators in the order of the
// mma instruction: value i of a lane is in column group i / 4, row half (i % 4) / 2.
#pragma once

#include <cmath>
#include <cstdint>

#include "operands.cuh"
#include "sight.cuh"

namespace fact {

// The scale that scores still need here: with a cap (kCap is not 0) they are scaled already.
template <class Config>
inline constexpr float kRemainingScale = Config::kCap > 0.f ? 1.f : Config::kScale;

struct NoBias {};

// The bias that is added to the scores of a block of columns. What it is computed from is loaded
// while the products of these scores run; the functor `Bias` gives a number for every position.
template <class Config, class Bias, int kBatches, int kCount>
struct BlockBias {
    static constexpr int kSlabs = kCount / kSlabValues;
    typename Bias::Fetched slabs[kSlabs];

    __device__ BlockBias(Bias const& bias, SlabOf<kBatches> const& first) {
#pragma unroll
        for (int s = 0; s < kSlabs; ++s) slabs[s] = bias.fetch(slab(first, s));
    }
    // `unit`: the factor of the scores.
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

// Sets the scores of columns that a row does not see to -inf.
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

// Two rows per lane: the largest score so far (`base`), and the sum of exponentials relative to it.
// The largest weight of a row is then exactly one, which rounding does not change. A base that may
// lag behind, to rescale less often, is up to 6 % faster, but a row that sees a single column is
// then off by half a bit.
template <class Config>
struct RunningSoftmax {
    // Turns a score into an exponent of two; with a bias, scores are scaled already.
    static constexpr float kUnit = Config::kBias ? kLog2e : kRemainingScale<Config> * kLog2e;
    float base[2] = {-INFINITY, -INFINITY}, sum[2] = {0.f, 0.f};
    float shrink[2];  // the factor of everything that was summed before the last block
    bool shrinks;     // whether any row of the warp has a factor other than 1

    // Turns scores into weights. `by`: the block's factor, which is applied besides kUnit.
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
            float const finite = base[half] == -INFINITY ? 0.f : base[half];
            float const unit = by * unit_beside(finite), power = finite * unit_beside(finite);
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

    // The factor that turns scores near `base` into exponents of two. `base * kUnit` is rounded, by
    // no more than scores of that size are. But an added mask may be so low that this error would
    // be many powers of two. Such scores are equal or far apart, so their differences are taken
    // exactly, with a factor of 1.
    __device__ static float unit_beside(float base) {
        return Config::kBias && fabsf(base) > 0x1p28f ? 1.f : kUnit;
    }

    // Completes the sums; `inverse` is what the weighted sums are multiplied by at the end.
    __device__ void finish(float (&inverse)[2]) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float& all = sum[half];
            all += __shfl_xor_sync(0xffffffff, all, 1);
            all += __shfl_xor_sync(0xffffffff, all, 2);
            inverse[half] = all == 0.f ? (Config::kZeroUnseen ? 0.f : NAN) : 1.f / all;
        }
    }

    // The logarithm of the sum of the scores' exponentials, after finish(); -inf if a row saw
    // nothing.
    __device__ float log_sum(int half) const {
        return base[half] * (Config::kBias ? 1.f : kRemainingScale<Config>)+logf(sum[half]);
    }
};

// Where the logarithms of the sums are stored, one per row.
template <int kBatches>
struct LogSumsOf {
    float* data;
    int64_t stride, batch_strides[kBatches];

    // `at`: where the lane's values begin.
    template <class Config>
    __device__ void store(RunningSoftmax<Config> const& softmax, SlabOf<kBatches> const& at) const {
        if (threadIdx.x % 4 != 0) return;  // four lanes have the same value
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

// Accumulators of scores, packed in pairs, are the left operand of the next product. Columns
// without a score become zero.
template <class Element, int kCount, int kSteps>
__device__ void as_operand(float const (&weights)[kCount], uint32_t (&to)[kSteps][4]) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            int const at = (step * 2 + i / 2) * 4 + i % 2 * 2;
            to[step][i] = at < kCount ? pack<Element>(weights[at], weights[at + 1]) : 0;
        }
}

}  // namespace fact
