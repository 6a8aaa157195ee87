// f32 operands of attention as f16 numbers, which have as many significant bits as TF32: every
// block of rows is brought into f16's range by a power of two of its own.
#pragma once

#include <cfloat>

#include "../common/operands.cuh"
#include "boxes.cuh"
#include "sums_factor.cuh"

namespace fact::sm90 {

// Of one operand: by which factor the f16 numbers of each block of rows give its f32 numbers.
template <int kBatches>
struct BlockFactorsOf {
    float const* data;  // [batch][blocks]
    int64_t strides[kBatches];

    __device__ float at(int const (&batch)[kBatches], int block) const {
        return data[batch_offset(batch, strides) + block];
    }
};

template <int kBatches>
struct AttentionFactorsOf {
    BlockFactorsOf<kBatches> q, k, v;
};
using AttentionFactors = AttentionFactorsOf<2>;

struct NoFactors {};

// Of one block of columns: the factors of its scores (q's times k's) and of its values.
struct BlockFactors {
    float score, value;
};
struct NoBlockFactors {
    static constexpr float score = 1.f, value = 1.f;
};

template <class Config, class Factors, int kBatches>
struct TileFactors {
    Factors const& all;
    float q;
    BatchOf<Config::kBatchK, kBatches> batch_k;
    BatchOf<Config::kBatchV, kBatches> batch_v;

    __device__ TileFactors(Factors const& factors, TileAt<kBatches> const& at)
        : all(factors), q(factors.q.at(at.batch, at.m)), batch_k(at.batch), batch_v(at.batch) {
        // kHeads is the place of the heads among the batch dimensions.
        batch_k.at[Config::kHeads] /= Config::kRepeats;
        batch_v.at[Config::kHeads] /= Config::kRepeats;
    }
    // The scores' factor is never zero: hidden scores have to stay -inf, and 0 * -inf is NaN.
    __device__ BlockFactors of_block(int n) const {
        return {fmaxf(q * all.k.at(batch_k.at, n), FLT_MIN), all.v.at(batch_v.at, n)};
    }
};
template <class Config, int kBatches>
struct TileFactors<Config, NoFactors, kBatches> {
    __device__ TileFactors(NoFactors const&, TileAt<kBatches> const&) {}
    __device__ NoBlockFactors of_block(int) const { return {}; }
};

// The factor of the weighted sums: sums * running.unit are the true ones (sums_factor.cuh).
template <class Factors>
struct SumsFactor {
    RunningFactor running;

    template <int kCount>
    __device__ void take(float (&weights)[kCount], BlockFactors const& of_block) {
        running.take(of_block.value);
        scale_all(weights, running.share);
    }
    // Rescales what was summed before the last block that was taken.
    template <int kCount>
    __device__ void apply_to(float (&sums)[kCount]) const {
        scale_all(sums, running.fade);
    }
    // Into the inverse of the sum of weights of each of the thread's two rows.
    __device__ void finish(float (&inverse)[2]) const {
        inverse[0] *= running.unit;
        inverse[1] *= running.unit;
    }
};
template <>
struct SumsFactor<NoFactors> {
    template <int kCount>
    __device__ void take(float (&)[kCount], NoBlockFactors const&) {}
    template <int kCount>
    __device__ void apply_to(float (&)[kCount]) const {}
    __device__ void finish(float (&)[2]) const {}
};

}  // namespace fact::sm90
