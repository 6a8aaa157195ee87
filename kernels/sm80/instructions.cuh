// The instructions that the sm80 skeletons use, through CUTLASS's wrappers.
#pragma once

#include <cute/arch/copy_sm75.hpp>
#include <cute/arch/copy_sm80.hpp>
#include <cute/arch/mma_sm80.hpp>

#include "../common/numbers.cuh"

namespace fact::sm80 {

// Copies kBytes to shared memory without waiting, or clears them if `from` is not `inside` the
// tensor. cp.async copies at least four bytes, so kBytes == 2 is a plain load and store, which
// blocks.
template <int kBytes>
__device__ void copy_async(unsigned char* to, void const* from, bool inside) {
    static_assert(kBytes == 16 || kBytes == 8 || kBytes == 4 || kBytes == 2);
    if constexpr (kBytes == 16)
        cute::SM80_CP_ASYNC_CACHEGLOBAL_ZFILL<cute::uint128_t>::copy(
            *static_cast<cute::uint128_t const*>(from), *reinterpret_cast<cute::uint128_t*>(to),
            inside);
    else if constexpr (kBytes == 8)
        cute::SM80_CP_ASYNC_CACHEALWAYS_ZFILL<uint64_t>::copy(
            *static_cast<uint64_t const*>(from), *reinterpret_cast<uint64_t*>(to), inside);
    else if constexpr (kBytes == 4)
        cute::SM80_CP_ASYNC_CACHEALWAYS_ZFILL<uint32_t>::copy(
            *static_cast<uint32_t const*>(from), *reinterpret_cast<uint32_t*>(to), inside);
    else
        *reinterpret_cast<uint16_t*>(to) = inside ? *static_cast<uint16_t const*>(from) : 0;
}

// end_group ends a group of copies; wait_groups waits until all but the last kPending groups have
// arrived.
__device__ inline void end_group() {
    cute::cp_async_fence();
}
template <int kPending>
__device__ void wait_groups() {
    cute::cp_async_wait<kPending>();
}

// 16 rows (along M or N) by the depth of one mma: word[h][d] holds half h of the rows and half d of
// the depth, the register layout that mma expects of A as well as of B.
struct Fragment {
    uint32_t word[2][2];
};

// Loads four matrices, 8x8 of 16-bit elements or 8x4 of 32-bit ones; `from` is each lane's row.
template <bool kTransposed>
__device__ void load_matrices(Fragment& to, unsigned char const* from) {
    auto const& row = *reinterpret_cast<cute::uint128_t const*>(from);
    auto& w = to.word;
    if constexpr (kTransposed)
        cute::SM75_U16x8_LDSM_T::copy(row, w[0][0], w[0][1], w[1][0], w[1][1]);
    else
        cute::SM75_U32x4_LDSM_N::copy(row, w[0][0], w[0][1], w[1][0], w[1][1]);
}

template <class Element>
struct Mma;
template <>
struct Mma<bf16> : cute::SM80_16x8x16_F32BF16BF16F32_TN {};
template <>
struct Mma<half> : cute::SM80_16x8x16_F32F16F16F32_TN {};
template <>
struct Mma<float> : cute::SM80_16x8x8_F32TF32TF32F32_TN {};

// sums += A B for 16 rows of A and 8 columns of B. `b` holds 16 columns: `h` is the half to use.
template <class Element>
__device__ void multiply(float* sums, Fragment const& a, Fragment const& b, int h) {
    Mma<Element>::fma(sums[0], sums[1], sums[2], sums[3], a.word[0][0], a.word[1][0], a.word[0][1],
                      a.word[1][1], b.word[h][0], b.word[h][1], sums[0], sums[1], sums[2], sums[3]);
}

}  // namespace fact::sm80
