// ldmatrix on the host: lane 8 * i + r gives the address of row r of matrix i, eight 16-bit
// elements each.
#pragma once

#include "copy_sm80.hpp"

namespace cute {

template <bool kTransposed>
struct EmulatedLdmatrix {
    static void copy(uint128_t const& row, std::uint32_t& a, std::uint32_t& b, std::uint32_t& c,
                     std::uint32_t& d) {
        emulated::Words own{};
        own.of[0] = reinterpret_cast<std::uintptr_t>(&row);
        const emulated::Words* const rows = emulated::exchange(own);
        const int lane = static_cast<int>(threadIdx.x % 32);
        std::uint32_t* const to[] = {&a, &b, &c, &d};
        for (int i = 0; i < 4; ++i) {
            const auto element = [&](int r, int column) {
                return std::uint32_t{
                    reinterpret_cast<std::uint16_t const*>(rows[8 * i + r].of[0])[column]};
            };
            const int far = lane / 4, near = lane % 4 * 2;
            *to[i] = kTransposed ? element(near, far) | element(near + 1, far) << 16
                                 : element(far, near) | element(far, near + 1) << 16;
        }
    }
};
using SM75_U32x4_LDSM_N = EmulatedLdmatrix<false>;
using SM75_U16x8_LDSM_T = EmulatedLdmatrix<true>;

}  // namespace cute
