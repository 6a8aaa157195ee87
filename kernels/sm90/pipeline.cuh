// The ring of shared-memory stages between the producer and the consumers of a cluster.
#pragma once

#include <cutlass/arch/barrier.h>

#include <cute/arch/cluster_sm90.hpp>

namespace fact::sm90 {

using FullBarrier = cutlass::arch::ClusterTransactionBarrier;
using EmptyBarrier = cutlass::arch::ClusterBarrier;

// Which stage comes next, and the parity of its barrier's phase.
template <int kStages>
struct RingPosition {
    int stage = 0;
    uint32_t phase = 0;

    __device__ int before() const { return stage == 0 ? kStages - 1 : stage - 1; }
    __device__ void advance() {
        if (++stage == kStages) stage = 0, phase ^= 1;
    }
    __device__ void advance(int count) {
        int const next = stage + count;
        phase ^= static_cast<uint32_t>(next / kStages) & 1;
        stage = next % kStages;
    }
};

// A stage is full when all its bytes have arrived, and empty when every consumer group of every
// thread block that receives this block's multicast copies has released it.
template <int kStages, int kClusterM, int kClusterN, int kReleasesPerBlock>
struct Ring {
    static constexpr int kReaders = kClusterM + kClusterN - 1;
    FullBarrier full[kStages];
    EmptyBarrier empty[kStages];

    __device__ void init() {
        for (int i = 0; i < kStages; ++i) {
            full[i].init(1);
            empty[i].init(kReaders * kReleasesPerBlock);
        }
        cutlass::arch::fence_barrier_init();
    }

    // The thread block at whose empty barrier a lane arrives to release a stage: lane i of an
    // arriving warp arrives at that of reader i. Readers are this block's row of the cluster, then
    // the rest of its column. Computed once, not for every k-tile.
    struct Arrival {
        uint32_t block, arrives;
        __device__ Arrival(int lane, bool arriving_warp)
            : block(0), arrives(arriving_warp && lane < kReaders) {
            if constexpr (kReaders > 1) {
                uint32_t const rank = cute::block_rank_in_cluster();
                uint32_t const m = rank % kClusterM, n = rank / kClusterM;
                uint32_t const i = static_cast<uint32_t>(lane), other = i - kClusterN;
                block = i < kClusterN ? i * kClusterM + m
                                      : n * kClusterM + (other < m ? other : other + 1);
            }
        }
    };

    __device__ void release(int stage, Arrival const& by) {
        empty[stage].arrive(by.block, by.arrives);
    }
};

}  // namespace fact::sm90
