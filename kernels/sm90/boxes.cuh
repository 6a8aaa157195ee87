// Loads and stores of one box of a tensor map, at x and y of a matrix of the batch.
#pragma once

#include <cute/arch/copy_sm90_desc.hpp>
#include <cute/arch/copy_sm90_tma.hpp>

#include "pipeline.cuh"

namespace fact::sm90 {

// An operand's coordinates in the batch: 0 along dimensions that it lacks (no bit in kHas).
template <int kHas, int kBatches>
struct BatchOf {
    int at[kBatches];
    __device__ explicit BatchOf(int const (&batch)[kBatches]) {
#pragma unroll
        for (int i = 0; i < kBatches; ++i) at[i] = kHas >> i & 1 ? batch[i] : 0;
    }
};

template <int kBatches>
__device__ void load_box(CUtensorMap const& map, FullBarrier& full, void* to, int x, int y,
                         int const (&batch)[kBatches], cute::TMA::CacheHintSm90 keep) {
    static_assert(kBatches == 2 || kBatches == 3);  // a tensor map has at most five dimensions
    uint64_t* barrier = reinterpret_cast<uint64_t*>(&full);
    uint64_t const hint = static_cast<uint64_t>(keep);
    if constexpr (kBatches == 2)
        cute::SM90_TMA_LOAD_4D::copy(&map, barrier, hint, to, x, y, batch[0], batch[1]);
    else
        cute::SM90_TMA_LOAD_5D::copy(&map, barrier, hint, to, x, y, batch[0], batch[1], batch[2]);
}

// Loads a box for all thread blocks of the cluster in `mask`.
template <int kBatches>
__device__ void load_box_shared(CUtensorMap const& map, FullBarrier& full, void* to, int x, int y,
                                int const (&batch)[kBatches], uint16_t mask) {
    static_assert(kBatches == 2 || kBatches == 3);
    uint64_t* barrier = reinterpret_cast<uint64_t*>(&full);
    uint64_t const hint = static_cast<uint64_t>(cute::TMA::CacheHintSm90::EVICT_NORMAL);
    if constexpr (kBatches == 2)
        cute::SM90_TMA_LOAD_MULTICAST_4D::copy(&map, barrier, mask, hint, to, x, y, batch[0],
                                               batch[1]);
    else
        cute::SM90_TMA_LOAD_MULTICAST_5D::copy(&map, barrier, mask, hint, to, x, y, batch[0],
                                               batch[1], batch[2]);
}

template <int kBatches>
__device__ void store_box(CUtensorMap const& map, void const* from, int x, int y,
                          int const (&batch)[kBatches]) {
    static_assert(kBatches == 2 || kBatches == 3);
    if constexpr (kBatches == 2)
        cute::SM90_TMA_STORE_4D::copy(&map, from, x, y, batch[0], batch[1]);
    else
        cute::SM90_TMA_STORE_5D::copy(&map, from, x, y, batch[0], batch[1], batch[2]);
}

}  // namespace fact::sm90
