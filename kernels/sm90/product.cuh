// The persistent, warp-specialised product: a producer group fills the ring of stages; two consumer
// groups multiply and run the epilogue, both on the same tile (cooperative) or on alternate tiles,
// one multiplying while the other runs its epilogue (ping-pong). Tiles are computed whole, or cut
// along K and shared between clusters if that keeps more of the GPU busy (stream-K, split-K).
#pragma once

#include <cutlass/arch/reg_reconfig.h>
#include <cutlass/cutlass.h>

#include "../common/previous.cuh"
#include "epilogue.cuh"
#include "partials.cuh"
#include "producer.cuh"
#include "turn.cuh"

namespace fact::sm90 {

inline constexpr int kProductThreads = 384;

// For a product whose epilogue reads no statistics of its rows (row_statistics.cuh).
struct NoStatistics {
    static constexpr bool kAny = false;
};

template <class Config, class Mainloop>
struct ProductStorage {
    alignas(1024) unsigned char stages[Config::kStages * Mainloop::kStageBytes];
    StoreBuffers<Config::kStoreBuffers> store[8];  // one per consumer warp
    Ring<Config::kStages, Config::kClusterM, Config::kClusterN, Mainloop::kReleases> ring;
    FullBarrier staged[8][Config::kStoreBuffers];  // of the epilogue's staged operand
    int cluster;                                   // its number, in the order of clusters' starts
};

// Numbers the clusters in the order of their start: the first thread of each gets the number and
// writes it to `number_slot` of every thread block of its cluster.
template <int kClusterSize>
__device__ void number_by_start(Partials const& partials, int clusters, int rank,
                                int& number_slot) {
    if (threadIdx.x == 0 && rank == 0) {
        int const number = start_number(partials.start_counts(), partials.token, clusters);
        for (int to = 0; to < kClusterSize; ++to)
            asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(
                             cute::set_block_rank(cute::cast_smem_ptr_to_uint(&number_slot), to)),
                         "r"(number)
                         : "memory");
    }
    __syncwarp();  // the cluster's barrier takes whole warps
    if constexpr (kClusterSize > 1) {
        cute::cluster_arrive();
        cute::cluster_wait();
    } else {
        __syncthreads();
    }
}

// The cluster's number. It is read from shared memory wherever it is needed: there is no register
// left to hold it throughout.
template <class Config>
__device__ int cluster_number(int const& number_slot) {
    if constexpr (Config::kDeal != Deal::streamed) {
        return static_cast<int>(blockIdx.x) / (Config::kClusterM * Config::kClusterN);
    } else {
        int number;
        asm volatile("ld.shared.u32 %0, [%1];"
                     : "=r"(number)
                     : "r"(cute::cast_smem_ptr_to_uint(&number_slot))
                     : "memory");
        return number;
    }
}

// `output` is the result's tensor map, or the `Places` of its elements (scatter.cuh);
// `staged` is the tensor map of the epilogue's staged operand, ignored unless Config::kStaged;
// `partials` is used if tiles are cut along K. `statistics` are computed for the epilogue by the
// producer group's idle warps.
template <class Config, class Mainloop, class Functor, int kBatches,
          class Statistics = NoStatistics, class Output = CUtensorMap>
__device__ void product(typename Mainloop::Operands const& operands, Output const& output,
                        CUtensorMap const& staged, ExtentsOf<kBatches> const& extents,
                        WalkOrder const& order, Functor const& functor,
                        Partials const& partials = {}, Statistics const& statistics = {}) {
    // Ping-pong would wait for the statistics before its first product; split-K fetches what its
    // epilogue reads only after gathering, without waiting for the statistics.
    static_assert(!Statistics::kAny || (Config::kDeal != Deal::divided && !Config::kPingpong));
    using Storage = ProductStorage<Config, Mainloop>;
    constexpr bool kClustered = Config::kClusterM * Config::kClusterN > 1;
    extern __shared__ __align__(1024) unsigned char shared[];
    Storage& storage = *reinterpret_cast<Storage*>(shared);
    auto& ring = storage.ring;

    // The compiler can tell that this index is uniform across a warp: stage addresses are then in
    // uniform registers, and no other instruction comes between one wgmma and the next.
    int const warp_group = cutlass::canonical_warp_group_idx();
    int const rank = kClustered ? static_cast<int>(cute::block_rank_in_cluster()) : 0;
    constexpr int kClusterSize = Config::kClusterM * Config::kClusterN;
    int const k_tiles = (extents.k + Config::kTileK - 1) / Config::kTileK;
    ClusterWalk<Config, kBatches> const walk(extents, order);

    if (threadIdx.x == 0) {
        cute::prefetch_tma_descriptor(&operands.a.map);
        cute::prefetch_tma_descriptor(&operands.b.map);
        if constexpr (kProducts<Config> == 2) cute::prefetch_tma_descriptor(&operands.other);
        if constexpr (std::is_same_v<Output, CUtensorMap>) cute::prefetch_tma_descriptor(&output);
        if constexpr (Config::kStaged) {
            cute::prefetch_tma_descriptor(&staged);
            for (auto& warp : storage.staged)
                for (FullBarrier& barrier : warp) barrier.init(1);
        }
        ring.init();
        if constexpr (Config::kDeal == Deal::streamed)
            storage.cluster = static_cast<int>(blockIdx.x) / kClusterSize;
    }
    if constexpr (kClustered) {
        cute::cluster_arrive_relaxed();
        cute::cluster_wait();
    } else {
        __syncthreads();
    }
    wait_for_previous();
    int const clusters = static_cast<int>(gridDim.x) / kClusterSize;
    if constexpr (Config::kDeal == Deal::streamed)
        if (walk.total % clusters != 0)  // else no cluster waits for another
            number_by_start<kClusterSize>(partials, clusters, rank, storage.cluster);
    auto const work_of = [&](int cluster) {
        return DealtTiles<Config::kDeal>{{walk.total, k_tiles, cluster, clusters}};
    };

    constexpr int kProducerRegisters = 56, kConsumerRegisters = 224;  // 56 + 2 * 224 <= 512
    if (warp_group == 0) {
        cutlass::arch::warpgroup_reg_dealloc<kProducerRegisters>();
        if (threadIdx.x == 0) {
            RingPosition<Config::kStages> position{0, 1};  // the ring starts empty
            auto const work = work_of(cluster_number<Config>(storage.cluster));
            for (int i = 0;; ++i) {
                Stretch const stretch = work.at(i);
                if (stretch.k_count == 0) break;
                TileAt<kBatches> const at = walk.at(stretch.tile, rank);
                auto along_k = operands.begin(at, stretch.k_first * Config::kTileK, rank);
                for (int k = 0; k < stretch.k_count; ++k, position.advance()) {
                    ring.empty[position.stage].wait(position.phase);
                    ring.full[position.stage].arrive_and_expect_tx(Mainloop::kStageBytes);
                    operands.load(ring.full[position.stage],
                                  storage.stages + position.stage * Mainloop::kStageBytes, at,
                                  extents, along_k, (stretch.k_first + k) * Config::kTileK, rank);
                    operands.advance(along_k);
                }
            }
            // A thread block may not end while others still copy into it or arrive at its barriers.
            if constexpr (kClustered)
                for (int s = 0; s < Config::kStages; ++s, position.advance())
                    ring.empty[position.stage].wait(position.phase);
        }
        if constexpr (Statistics::kAny) {
            static_assert(32 * (1 + Statistics::kComputingWarps + Statistics::kWaitingWarps) ==
                          kProductThreads);
            if (threadIdx.x >= 32) statistics.compute(extents);
        }
    } else {
        cutlass::arch::warpgroup_reg_alloc<kConsumerRegisters>();
        int const group = warp_group - 1, warp = cutlass::canonical_warp_idx() % 4;
        int const lane = threadIdx.x % 32;
        int const consumer = group * 4 + warp;
        auto const& tile_functor = Mainloop::adapt_functor(functor, operands);
        using TileFunctor = std::decay_t<decltype(tile_functor)>;
        Epilogue<Config, TileFunctor, kBatches, Output> epilogue{tile_functor,
                                                                 output,
                                                                 staged,
                                                                 extents,
                                                                 storage.store[consumer],
                                                                 storage.staged[consumer],
                                                                 lane};
        Turn<Config::kPingpong ? 2 : 1> const turn(group);
        typename decltype(Storage::ring)::Arrival const arrival(lane, Mainloop::arrives(warp));
        RingPosition<Config::kStages> position;
        auto const cluster = [&] {
            int const number = cluster_number<Config>(storage.cluster);
            if constexpr (Config::kDeal != Deal::streamed) return number;
            return __shfl_sync(~0u, number, 0);  // so that the compiler knows it to be uniform
        };
        auto const work = [&] { return work_of(cluster()); };
        auto const block = [&] { return cluster() * kClusterSize + rank; };  // in start order
        constexpr int kTakers = Config::kPingpong ? 2 : 1;  // groups that take stretches in turn
        int const taker = Config::kPingpong ? group : 0;
        if (taker == 1) position.advance(work().at(0).k_count);
        bool have_statistics = false;  // of all rows
        for (int i = taker;; i += kTakers) {
            Stretch const stretch = work().at(i);
            if (stretch.k_count == 0) break;
            bool const is_partial = stretch.k_count < k_tiles;
            bool const runs_epilogue =
                Config::kDeal == Deal::divided ? !is_partial : stretch.k_first == 0;
            TileAt<kBatches> at;
            int row, column;
            auto const row_of = [&](int b) { return row + Mainloop::block_of(group, b) * 64; };
            typename TileFunctor::Fetched fetched;
            // Locating the tile takes divisions, and fetching takes time: both are done while the
            // tensor cores are busy with the other group's tile or the last products of this one.
            auto const prepare_epilogue = [&] {
                at = walk.at(stretch.tile, rank);
                row = at.m * Config::kTileM + warp * 16, column = at.n * kTileColumns<Config>;
                if (!runs_epilogue) return;
                if constexpr (Statistics::kAny)
                    for (int b = 0; b < Mainloop::kBlocks && !have_statistics; ++b)
                        have_statistics =
                            __all_sync(~0u, statistics.wait_for(at.batch, row_of(b), extents));
                fetched = epilogue.prefetch(at, row_of(0), column, 0);
            };
            if constexpr (Config::kPingpong) prepare_epilogue();

            Mainloop mainloop;
            typename Mainloop::Sums sums;
            turn.wait();
            mainloop.run(ring, arrival, storage.stages, position, stretch.k_count, group, sums);
            turn.pass();
            if constexpr (!Config::kPingpong) prepare_epilogue();
            mainloop.drain(ring, arrival, position, sums);
            if constexpr (kTakers == 2) position.advance(work().at(i + 1).k_count);

            if constexpr (Config::kDeal == Deal::divided) {
                PartialSums<Config, Mainloop> const partial{partials, block(), group};
                if (is_partial) {
                    if (!partial.gather(sums, work().part(), work().parts(), kClusterSize))
                        continue;
                    fetched = epilogue.prefetch(at, row_of(0), column, 0);
                }
            }
            if constexpr (Config::kDeal == Deal::streamed) {
                PartialSums<Config, Mainloop> const partial{partials, block(), group};
                if (!runs_epilogue) {
                    partial.leave(sums);
                    continue;
                }
                if (int const helpers = work().helpers(stretch); helpers > 0)
                    partial.add_to(sums, helpers, kClusterSize);
            }
#pragma unroll
            for (int b = 0; b < Mainloop::kBlocks; ++b)
                epilogue.finish(sums[b], at, row_of(b), column, fetched, b + 1 == Mainloop::kBlocks,
                                row_of(b + 1));
        }
        if constexpr (Statistics::kAny) statistics.leave(lane);
        epilogue.drain();
    }
    if constexpr (kClustered) {
        __syncwarp();  // the loading lane comes late, and the barrier takes whole warps
        cute::cluster_arrive();
        cute::cluster_wait();
    }
}

}  // namespace fact::sm90
