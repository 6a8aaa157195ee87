// What weighted sums of values stand for, where every block of values has a power of two of its
// own.
#pragma once

#include <cmath>

namespace fact::sm90 {

// Sums stand for numbers in the factor of the block that is added to them. Weights then keep all
// their bits, whatever larger values the row hides, or met before.
struct RunningFactor {
    // However small a block's values are, the sums before it do not overflow in its factor.
    static constexpr float kLeast = 0x1p-80f;
    float most = 0.f, unit = 0.f;
    float fade;   // what was summed before the last block is multiplied by
    float share;  // and its weights

    __device__ void take(float of_block) {
        float const before = unit;
        most = fmaxf(most, of_block);
        unit = fmaxf(of_block, most * kLeast);
        fade = before / unit;
        share = of_block / unit;
    }
};

template <int kCount>
__device__ void scale_all(float (&values)[kCount], float by) {
    if (by == 1.f) return;  // mostly so, and alike in all lanes
#pragma unroll
    for (float& value : values) value *= by;
}

}  // namespace fact::sm90
