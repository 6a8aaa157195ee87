// Thread blocks of a cluster, which can write into each other's shared memory.
#pragma once

#include <cstdint>
#include <cstring>

#include "previous.cuh"

namespace fact {

__device__ inline int rank_in_cluster() {
    uint32_t rank = 0;
#if __CUDA_ARCH__ >= 900
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
    return static_cast<int>(rank);
}

// A barrier in two halves, for all threads of the cluster: what one wrote before it arrived, all
// see once they have waited.
__device__ inline void arrive_at_cluster() {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}
__device__ inline void wait_for_cluster() {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

// Writes a value to where `own` is in the shared memory of another thread block.
template <class T>
__device__ inline void store_in_block([[maybe_unused]] T* own, T const& value, int block) {
    static_assert(sizeof(T) % 4 == 0);
    uint32_t words[sizeof(T) / 4];
    memcpy(words, &value, sizeof(T));
#if __CUDA_ARCH__ >= 900
    auto const here = static_cast<uint32_t>(__cvta_generic_to_shared(own));
    uint32_t there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(block));
#pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(T) / 4); ++i)
        asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(there + 4 * i), "r"(words[i])
                     : "memory");
#endif
}

// Calls body(row, inputs) in all blocks of a cluster, with the row's Inputs loaded. `body` may
// write into the shared memory of the others: all have started, and none has ended.
template <class Inputs, class Arguments, class Body>
__device__ void compute_in_cluster(Arguments const& args, int row, Body body) {
    arrive_at_cluster();
    wait_for_previous();
    asm volatile("" : "+r"(row));  // hides its value, so that no load moves above the wait
    Inputs inputs;
    inputs.load(args, row);
    wait_for_cluster();
    body(row, inputs);
    arrive_at_cluster();
    wait_for_cluster();
}

}  // namespace fact
