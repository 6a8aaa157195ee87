// The scale of weighted sums of values, if every block of values has a power of two of its own.
#pragma once

#include <cmath>

namespace fact::sm90 {

// Sums are kept in units of the factor of the block that is being added. Its weights then keep all
// their bits, however large the values are that the row hides or has met before.
struct RunningFactor {
    // Limits the ratio of factors, so that earlier sums do not overflow in the unit of a block with
    // tiny values.
    static constexpr float kLeast = 0x1p-80f;
    float most = 0.f;  // the largest factor so far
    float unit = 0.f;  // the unit of the sums
    float fade;        // the factor of what was summed before the last block
    float share;       // the factor of the last block's weights

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
    if (by == 1.f) return;  // usually, and then in all lanes
#pragma unroll
    for (float& value : values) value *= by;
}

}  // namespace fact::sm90
