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

// A stage is full when all its bytes have arrived, empty when every consumer group of every block
// that receives this block's multicast copies has let it go.
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

    // One lane's part in letting a stage go: lane i of a signing warp tells reader i, this block's
    // row of the cluster first, then the rest of its column. Worked out once, not every k-tile.
    struct Signature {
        uint32_t block, signs;
        __device__ Signature(int lane, bool signing_warp)
            : block(0), signs(signing_warp && lane < kReaders) {
            if constexpr (kReaders > 1) {
                uint32_t const rank = cute::block_rank_in_cluster();
                uint32_t const m = rank % kClusterM, n = rank / kClusterM;
                uint32_t const i = static_cast<uint32_t>(lane), other = i - kClusterN;
                block = i < kClusterN ? i * kClusterM + m
                                      : n * kClusterM + (other < m ? other : other + 1);
            }
        }
    };

    __device__ void release(int stage, Signature const& by) {
        empty[stage].arrive(by.block, by.signs);
    }
};

}  // namespace fact::sm90
