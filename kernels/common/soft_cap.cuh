// Scores that approach a cap instead of exceeding it: s becomes cap * tanh(s / cap).
#pragma once

#include "softmax.cuh"

namespace fact {

// `by`: the block's factor, which is applied besides kScale. Computed from a power of two, whose
// error in a score is a few 1e-7 of the cap; that of tanh.approx would be 5e-4.
template <class Config, int kCount>
__device__ void cap_scores(float (&scores)[kCount], float by) {
    if constexpr (Config::kCap > 0.f) {
        float const unit = by * (2.f * Config::kScale / Config::kCap * kLog2e);
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
            float const power = power_of_two(scores[i] * unit);
            scores[i] = fmaf(-2.f * Config::kCap, reciprocal(1.f + power), Config::kCap);
        }
    }
}

}  // namespace fact
