// Warp-group products from shared memory: descriptors and the instruction for each tile width.
#pragma once

#include <cute/arch/mma_sm90_gmma.hpp>
#include <cute/arch/util.hpp>
#include <utility>

#include "../common/numbers.cuh"
#include "../common/problem.cuh"

namespace fact::sm90 {

namespace GMMA = cute::SM90::GMMA;

template <Major kMajor>
inline constexpr GMMA::Major kGmmaMajor = kMajor == Major::k ? GMMA::Major::K : GMMA::Major::MN;

// The descriptor of an operand in shared memory, in swizzled rows of 128 or 64 bytes: groups of
// eight rows follow one another. `leading_bytes` is the distance between slabs of an operand that
// is contiguous along M or N.
template <int kRowBytes = 128>
__device__ inline uint64_t descriptor(void const* address, int leading_bytes) {
    static_assert(kRowBytes == 128 || kRowBytes == 64);
    constexpr uint64_t kSwizzle = kRowBytes == 128 ? 1 : 2, kGroup = 8 * kRowBytes >> 4;
    uint64_t const at = (cute::cast_smem_ptr_to_uint(address) >> 4) & 0x3fff;
    return at | (static_cast<uint64_t>(leading_bytes >> 4) << 16) | (kGroup << 32) |
           (kSwizzle << 62);
}

// The descriptor moved by some bytes: one addition, while a new descriptor takes five instructions.
__device__ inline uint64_t advanced(uint64_t descriptor, int bytes) {
    return descriptor + (bytes >> 4);
}

// 64 x kN += 64 x K times K x kN, both operands in shared memory; K numbers are 32 bytes.
template <class Element, int kN, Major kA, Major kB>
struct SharedProduct;

#define FACT_SHARED_PRODUCT(N)                                                     \
    template <Major kA, Major kB>                                                  \
    struct SharedProduct<bf16, N, kA, kB>                                          \
        : GMMA::MMA_64x##N##x16_F32BF16BF16_SS<kGmmaMajor<kA>, kGmmaMajor<kB>> {}; \
    template <Major kA, Major kB>                                                  \
    struct SharedProduct<half, N, kA, kB>                                          \
        : GMMA::MMA_64x##N##x16_F32F16F16_SS<kGmmaMajor<kA>, kGmmaMajor<kB>> {};   \
    template <>                                                                    \
    struct SharedProduct<float, N, Major::k, Major::k>                             \
        : GMMA::MMA_64x##N##x8_F32TF32TF32_SS_TN<> {};
FACT_SHARED_PRODUCT(8)
FACT_SHARED_PRODUCT(16)
FACT_SHARED_PRODUCT(32)
FACT_SHARED_PRODUCT(64)
FACT_SHARED_PRODUCT(96)
FACT_SHARED_PRODUCT(128)
FACT_SHARED_PRODUCT(192)
FACT_SHARED_PRODUCT(256)
#undef FACT_SHARED_PRODUCT

// 64 x kN += 64 x 16 (16-bit, in registers) times 16 x kN in shared memory.
template <class Element, int kN, Major kB>
struct RegisterHalfProduct;

#define FACT_REGISTER_HALF_PRODUCT(N)                                              \
    template <Major kB>                                                            \
    struct RegisterHalfProduct<bf16, N, kB>                                        \
        : GMMA::MMA_64x##N##x16_F32BF16BF16_RS<GMMA::Major::K, kGmmaMajor<kB>> {}; \
    template <Major kB>                                                            \
    struct RegisterHalfProduct<half, N, kB>                                        \
        : GMMA::MMA_64x##N##x16_F32F16F16_RS<GMMA::Major::K, kGmmaMajor<kB>> {};
FACT_REGISTER_HALF_PRODUCT(32)
FACT_REGISTER_HALF_PRODUCT(64)
FACT_REGISTER_HALF_PRODUCT(96)
FACT_REGISTER_HALF_PRODUCT(128)
FACT_REGISTER_HALF_PRODUCT(192)
FACT_REGISTER_HALF_PRODUCT(256)
#undef FACT_REGISTER_HALF_PRODUCT

template <class Op, int kCount, size_t... I>
__device__ void multiply(uint64_t a, uint64_t b, float (&sums)[kCount], bool accumulate,
                         std::index_sequence<I...>) {
    Op::fma(a, b, sums[I]..., accumulate ? GMMA::ScaleOut::One : GMMA::ScaleOut::Zero);
}
template <class Op, int kCount>
__device__ void multiply(uint64_t a, uint64_t b, float (&sums)[kCount], bool accumulate) {
    multiply<Op>(a, b, sums, accumulate, std::make_index_sequence<kCount>{});
}

template <class Op, int kCount, size_t... I>
__device__ void multiply(uint32_t const (&a)[4], uint64_t b, float (&sums)[kCount], bool accumulate,
                         std::index_sequence<I...>) {
    Op::fma(a[0], a[1], a[2], a[3], b, sums[I]...,
            accumulate ? GMMA::ScaleOut::One : GMMA::ScaleOut::Zero);
}
template <class Op, int kCount>
__device__ void multiply(uint32_t const (&a)[4], uint64_t b, float (&sums)[kCount],
                         bool accumulate) {
    multiply<Op>(a, b, sums, accumulate, std::make_index_sequence<kCount>{});
}

// Keeps the compiler from moving reads or writes of the sums across the asynchronous products.
template <int kBlocks, int kCount>
__device__ void pin(float (&sums)[kBlocks][kCount]) {
#pragma unroll
    for (int b = 0; b < kBlocks; ++b)
#pragma unroll
        for (int i = 0; i < kCount; ++i) cute::warpgroup_fence_operand(sums[b][i]);
}

}  // namespace fact::sm90
