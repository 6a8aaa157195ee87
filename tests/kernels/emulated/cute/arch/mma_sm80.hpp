// mma.m16n8k16 on the host, as PTX defines its fragments: of A, lane l holds rows l / 4 and 8 more,
// of B column l / 4, two neighbours along K a word.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "../../device.h"

namespace cute {

template <class Element, float (*kWiden)(Element)>
struct EmulatedMma {
    static void fma(float& d0, float& d1, float& d2, float& d3, std::uint32_t a0, std::uint32_t a1,
                    std::uint32_t a2, std::uint32_t a3, std::uint32_t b0, std::uint32_t b1,
                    float c0, float c1, float c2, float c3) {
        const emulated::Words* const all = emulated::exchange({{a0, a1, a2, a3, b0, b1}});
        const int lane = static_cast<int>(threadIdx.x % 32);
        float* const to[] = {&d0, &d1, &d2, &d3};
        const float add[] = {c0, c1, c2, c3};
        for (int i = 0; i < 4; ++i) {
            const int column = lane % 4 * 2 + i % 2;
            float sum = add[i];
            for (int k = 0; k < 16; ++k) {
                const auto& a = all[lane / 4 * 4 + k % 8 / 2];
                const auto& b = all[column * 4 + k % 8 / 2];
                sum += part(a.of[i / 2 + k / 8 * 2], k % 2) * part(b.of[4 + k / 8], k % 2);
            }
            *to[i] = sum;
        }
    }

  private:
    static float part(std::uint64_t word, int upper) {
        return kWiden({static_cast<std::uint16_t>(word >> 16 * upper)});
    }
};
using SM80_16x8x16_F32BF16BF16F32_TN = EmulatedMma<__nv_bfloat16, __bfloat162float>;
using SM80_16x8x16_F32F16F16F32_TN = EmulatedMma<half, __half2float>;
struct SM80_16x8x8_F32TF32TF32F32_TN {};

}  // namespace cute
