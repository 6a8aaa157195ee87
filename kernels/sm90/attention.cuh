// Attention in one pass: scores of a block of columns, a running softmax in registers, and the
// weighted sum of v, so that no score ever reaches memory. A producer group loads; the consumer
// groups have 64 rows of q each and take turns at the tensor cores: while one uses them,
// another computes exponentials. A group starts the next block's scores before it weighs the
// values of this one.
#pragma once

#include <cutlass/arch/reg_reconfig.h>
#include <cutlass/cutlass.h>

#include "../common/attention_walk.cuh"
#include "../common/previous.cuh"
#include "../common/soft_cap.cuh"
#include "epilogue.cuh"
#include "producer.cuh"
#include "scaled_blocks.cuh"
#include "turn.cuh"

namespace fact::sm90 {

template <class Config>
struct AttentionShapes {
    using Element = typename Config::Element;
    static constexpr int kGroups = Config::kGroups, kThreads = 128 * (1 + kGroups);
    static constexpr int kRows = 64 * kGroups, kColumns = Config::kColumns;
    // A smaller wgmma, for the last block if only few of its columns are seen.
    static constexpr int kFewColumns = kColumns > 64 ? 64 : 32;
    // A slab is 64 columns wide: 128 bytes per row, as the swizzle requires. Columns beyond the
    // tensor's edge read as zeros.
    static constexpr int kSlabs = (Config::kDepth + 63) / 64;
    static constexpr int kWideSlabs = (Config::kWidth + 63) / 64;
    using RowSlab = OperandTile<Element, Major::k, kRows, 64, 1>;
    using ColumnSlab = OperandTile<Element, Major::k, kColumns, 64, 1>;
    static constexpr int kQBytes = kSlabs * RowSlab::kBytes;
    static constexpr int kKBytes = kSlabs * ColumnSlab::kBytes;
    static constexpr int kVBytes = kWideSlabs * ColumnSlab::kBytes;
    using ValueProduct = RegisterHalfProduct<Element, Config::kWidth, Major::mn>;
    using Weights = uint32_t[kColumns / 16][4];
    using Sums = float[1][Config::kWidth / 2];
    // Registers per thread. The sum over all groups may be 512: 40 + 2 * 232, or 32 + 3 * 160.
    static constexpr int kProducerRegisters = kGroups == 2 ? 40 : 32;
    static constexpr int kConsumerRegisters = kGroups == 2 ? 232 : 160;
};

template <class Config, int kBatches>
using AttentionWalkOf =
    AttentionWalk<AttentionShapes<Config>::kRows, Config::kColumns, SightOf<Config>, kBatches>;

template <class Config>
struct AttentionStorage {
    using Shapes = AttentionShapes<Config>;
    alignas(1024) unsigned char q[Config::kRowStages][Shapes::kQBytes];
    alignas(1024) unsigned char k[Config::kStages][Shapes::kKBytes];
    alignas(1024) unsigned char v[Config::kStages][Shapes::kVBytes];
    StoreBuffers<Config::kStoreBuffers> store[4 * Shapes::kGroups];
    Ring<Config::kRowStages, 1, 1, Shapes::kGroups> q_ring;
    Ring<Config::kStages, 1, 1, Shapes::kGroups> k_ring, v_ring;
};

// Loads `kCount` slabs of rows from `row` on.
template <class Slab, int kCount, int kBatches>
__device__ void load_slabs(CUtensorMap const& map, FullBarrier& full, unsigned char* to, int row,
                           int const (&batch)[kBatches]) {
#pragma unroll
    for (int s = 0; s < kCount; ++s)
        Slab::load(map, full, to + s * Slab::kBytes, row, s * 64, batch, 0, 0);
}

// Configures the product's epilogue for attention: whole boxes of 64 columns.
template <class Config>
struct AttentionStore {
    using Output = typename Config::Output;
    static constexpr int kTileN = AttentionShapes<Config>::kWideSlabs * 64;
    static constexpr int kStoreBuffers = Config::kStoreBuffers;
    static constexpr bool kStaged = false;
};
// The functor of an epilogue that stores values as they are.
struct AsIs {
    struct Fetched {};
    template <class Slab>
    __device__ Fetched fetch(Slab const&) const {
        return {};
    }
    template <class Slab>
    __device__ float operator()(float x, Fetched const&, Slab const&, int) const {
        return x;
    }
};

// The producer: loads k one block ahead of v, since k is needed first.
template <class Config, int kBatches>
__device__ void load_attention(AttentionStorage<Config>& storage,
                               AttentionWalkOf<Config, kBatches> const& walk,
                               CUtensorMap const& map_q, CUtensorMap const& map_k,
                               CUtensorMap const& map_v) {
    using Shapes = AttentionShapes<Config>;
    RingPosition<Config::kRowStages> q_at{0, 1};  // the rings start empty
    RingPosition<Config::kStages> k_at{0, 1}, v_at{0, 1};
    walk.each([&](TileAt<kBatches> const& at, SeenBlocks blocks) {
        storage.q_ring.empty[q_at.stage].wait(q_at.phase);
        storage.q_ring.full[q_at.stage].arrive_and_expect_tx(Shapes::kQBytes);
        load_slabs<typename Shapes::RowSlab, Shapes::kSlabs>(map_q, storage.q_ring.full[q_at.stage],
                                                             storage.q[q_at.stage],
                                                             at.m * Shapes::kRows, at.batch);
        q_at.advance();
        BatchOf<Config::kBatchK, kBatches> batch_k(at.batch);
        BatchOf<Config::kBatchV, kBatches> batch_v(at.batch);
        batch_k.at[Config::kHeads] /= Config::kRepeats;  // neighbouring heads share keys and values
        batch_v.at[Config::kHeads] /= Config::kRepeats;
        auto const load_k = [&](int n) {
            storage.k_ring.empty[k_at.stage].wait(k_at.phase);
            FullBarrier& full = storage.k_ring.full[k_at.stage];
            full.arrive_and_expect_tx(Shapes::kKBytes);
            load_slabs<typename Shapes::ColumnSlab, Shapes::kSlabs>(
                map_k, full, storage.k[k_at.stage], n * Shapes::kColumns, batch_k.at);
            k_at.advance();
        };
        auto const load_v = [&](int n) {
            storage.v_ring.empty[v_at.stage].wait(v_at.phase);
            FullBarrier& full = storage.v_ring.full[v_at.stage];
            full.arrive_and_expect_tx(Shapes::kVBytes);
            load_slabs<typename Shapes::ColumnSlab, Shapes::kWideSlabs>(
                map_v, full, storage.v[v_at.stage], n * Shapes::kColumns, batch_v.at);
            v_at.advance();
        };
        load_k(blocks.last);
        for (int n = blocks.last - 1; n >= blocks.first; --n) load_k(n), load_v(n + 1);
        load_v(blocks.first);
    });
}

// Starts a consumer group's products of one block of columns, without waiting for them.
template <class Config>
struct AttentionProducts {
    using Shapes = AttentionShapes<Config>;

    template <int kCount>
    __device__ static void scores(unsigned char const* q, unsigned char const* k,
                                  float (&scores)[1][kCount]) {
        using Product = SharedProduct<typename Config::Element, kCount * 2, Major::k, Major::k>;
        uint64_t const queries = descriptor(q, 16), keys = descriptor(k, 16);
        pin(scores);
        cute::warpgroup_arrive();
#pragma unroll
        for (int step = 0; step < Config::kDepth / 16; ++step) {
            int const slab = step / 4, offset = step % 4 * 32;
            multiply<Product>(advanced(queries, slab * Shapes::RowSlab::kBytes + offset),
                              advanced(keys, slab * Shapes::ColumnSlab::kBytes + offset), scores[0],
                              step > 0);
        }
        cute::warpgroup_commit_batch();
    }

    __device__ static void values(typename Shapes::Weights const& weights, unsigned char const* v,
                                  typename Shapes::Sums& sums, bool first) {
        uint64_t const values = descriptor(v, Shapes::ColumnSlab::kBytes);
        pin(sums);
        cute::warpgroup_arrive();
#pragma unroll
        for (int step = 0; step < Shapes::kColumns / 16; ++step)
            multiply<typename Shapes::ValueProduct>(
                weights[step], advanced(values, step * 16 * 128), sums[0], !first || step > 0);
        cute::warpgroup_commit_batch();
    }
};

template <class Config, class Bias, int kBatches, class Factors = NoFactors,
          class LogSums = NoLogSums>
__device__ void attention(CUtensorMap const& map_q, CUtensorMap const& map_k,
                          CUtensorMap const& map_v, CUtensorMap const& map_y,
                          AttentionExtentsOf<kBatches> const& extents, Bias const& bias,
                          Factors const& factors = {}, LogSums const& log_sums = {}) {
    using Shapes = AttentionShapes<Config>;
    using Storage = AttentionStorage<Config>;
    using Products = AttentionProducts<Config>;
    extern __shared__ __align__(1024) unsigned char shared[];
    Storage& storage = *reinterpret_cast<Storage*>(shared);
    int const warp_group = cutlass::canonical_warp_group_idx();
    AttentionWalkOf<Config, kBatches> const walk(extents);

    if (threadIdx.x == 0) {
        for (CUtensorMap const* map : {&map_q, &map_k, &map_v, &map_y})
            cute::prefetch_tma_descriptor(map);
        storage.q_ring.init();
        storage.k_ring.init();
        storage.v_ring.init();
    }
    __syncthreads();
    wait_for_previous();

    if (warp_group == 0) {
        cutlass::arch::warpgroup_reg_dealloc<Shapes::kProducerRegisters>();
        if (threadIdx.x == 0) load_attention(storage, walk, map_q, map_k, map_v);
        return;
    }
    cutlass::arch::warpgroup_reg_alloc<Shapes::kConsumerRegisters>();
    int const group = warp_group - 1, warp = cutlass::canonical_warp_idx() % 4;
    int const lane = threadIdx.x % 32;
    auto& q_ring = storage.q_ring;
    auto& k_ring = storage.k_ring;
    auto& v_ring = storage.v_ring;
    typename decltype(Storage::k_ring)::Arrival const arrival(lane, warp == 0);
    typename decltype(Storage::q_ring)::Arrival const row_arrival(lane, warp == 0);
    RingPosition<Config::kRowStages> q_at;
    RingPosition<Config::kStages> k_at, v_at;
    ExtentsOf<kBatches> const matrix = walk.matrix(extents.columns);  // of the scores
    ExtentsOf<kBatches> const output = walk.matrix(extents.width);
    AsIs const as_is;
    Epilogue<AttentionStore<Config>, AsIs, kBatches> epilogue{
        as_is, map_y, map_y, output, storage.store[group * 4 + warp], nullptr, lane};
    Turn<Shapes::kGroups> const turn(group);
    walk.each([&](TileAt<kBatches> const& at, SeenBlocks blocks) {
        int const row = at.m * Shapes::kRows + group * 64 + warp * 16;
        unsigned char const* const q = storage.q[q_at.stage] + group * 64 * 128;
        typename Shapes::Weights weights;
        typename Shapes::Sums sums;
        RunningSoftmax<Config> softmax;
        TileFactors<Config, Factors, kBatches> const tile_factors(factors, at);
        SumsFactor<Factors> sums_factor;
        auto const place = [&](int n) -> SlabOf<kBatches> {
            return {row + lane / 4, n * Shapes::kColumns + 2 * (lane % 4), at.batch, matrix};
        };
        // Turns the finished scores of block n into weights.
        auto const weigh = [&](auto& scores, auto const& added, auto const& factor, int n) {
            constexpr int kColumns = static_cast<int>(sizeof(scores) / sizeof(float)) * 2;
            k_ring.release(k_at.stage, arrival);
            k_at.advance();
            cap_scores<Config>(scores[0], factor.score);
            float const remaining_factor = Config::kCap > 0.f ? 1.f : factor.score;
            added.add_to(scores[0], kRemainingScale<Config> * remaining_factor, bias, place(n));
            int const column = n * Shapes::kColumns;
            if (!SightOf<Config>::whole(row, row + 16, column, column + kColumns, extents.columns))
                hide<Config>(scores[0], place(n));
            softmax.take(scores[0], Config::kBias ? 1.f : remaining_factor);
            sums_factor.take(scores[0], factor);
        };
        // Takes the last block, with which a tile begins: there are no values to weigh yet.
        auto const begin = [&]<int kColumns>() {
            float scores[1][kColumns / 2];
            k_ring.full[k_at.stage].wait(k_at.phase);
            turn.wait();
            Products::scores(q, storage.k[k_at.stage], scores);
            turn.pass();
            BlockBias<Config, Bias, kBatches, kColumns / 2> const added(bias, place(blocks.last));
            auto const factor = tile_factors.of_block(blocks.last);
            cute::warpgroup_wait<0>();
            pin(scores);
            weigh(scores, added, factor, blocks.last);
            as_operand<typename Config::Element>(scores[0], weights);
        };

        q_ring.full[q_at.stage].wait(q_at.phase);
        // The group often sees only few columns of its last block.
        int const seen = walk.end(at.m * Shapes::kRows + group * 64 + 63);
        if (seen - blocks.last * Shapes::kColumns <= Shapes::kFewColumns)
            begin.template operator()<Shapes::kFewColumns>();
        else
            begin.template operator()<Shapes::kColumns>();
        for (int n = blocks.last - 1; n >= blocks.first; --n) {
            float scores[1][Shapes::kColumns / 2];
            k_ring.full[k_at.stage].wait(k_at.phase);
            turn.wait();
            Products::scores(q, storage.k[k_at.stage], scores);
            v_ring.full[v_at.stage].wait(v_at.phase);
            Products::values(weights, storage.v[v_at.stage], sums, n + 1 == blocks.last);
            turn.pass();
            BlockBias<Config, Bias, kBatches, Shapes::kColumns / 2> const added(bias, place(n));
            auto const factor = tile_factors.of_block(n);
            cute::warpgroup_wait<1>();
            pin(scores);
            weigh(scores, added, factor, n);
            cute::warpgroup_wait<0>();
            pin(sums);
            v_ring.release(v_at.stage, arrival);
            v_at.advance();
            if (softmax.shrinks) scale_rows(sums[0], softmax.shrink);
            sums_factor.apply_to(sums[0]);
            as_operand<typename Config::Element>(scores[0], weights);
        }
        q_ring.release(q_at.stage, row_arrival);
        q_at.advance();
        v_ring.full[v_at.stage].wait(v_at.phase);
        Products::values(weights, storage.v[v_at.stage], sums, blocks.first == blocks.last);
        float inverse[2];
        softmax.finish(inverse);
        log_sums.store(softmax, place(blocks.first));
        sums_factor.finish(inverse);
        cute::warpgroup_wait<0>();
        pin(sums);
        v_ring.release(v_at.stage, arrival);
        v_at.advance();
        scale_rows(sums[0], inverse);
        // Padded to whole boxes; TMA does not store beyond the tensor's edge.
        float padded[AttentionStore<Config>::kTileN / 2] = {};
#pragma unroll
        for (int i = 0; i < Config::kWidth / 2; ++i) padded[i] = sums[0][i];
        AsIs::Fetched fetched;
        epilogue.finish(padded, at, row, 0, fetched, true, 0);
    });
    if (group == 0) turn.wait();  // the last turn was passed on to it
    epilogue.drain();
}

}  // namespace fact::sm90
