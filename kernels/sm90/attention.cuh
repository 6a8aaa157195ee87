// Attention in one pass: scores of a block of columns, a running softmax in registers, and the
// weighted sum of v, so that no score ever reaches memory. A producer group loads, two consumer
// groups take 64 rows of q each.
#pragma once

#include <cutlass/arch/reg_reconfig.h>
#include <cutlass/cutlass.h>

#include "epilogue.cuh"
#include "producer.cuh"
#include "softmax.cuh"

namespace fact::sm90 {

inline constexpr int kAttentionThreads = 384;

template <int kBatches>
struct AttentionExtentsOf {
    int rows, columns, width;  // width: of v and of the output
    int batch[kBatches];
};
using AttentionExtents = AttentionExtentsOf<2>;

template <class Config>
struct AttentionShapes {
    using Element = typename Config::Element;
    static constexpr int kRows = 128, kColumns = 128;  // of a tile of q, of a block of k and v
    static constexpr int kSlabs = Config::kDepth / 64, kWideSlabs = Config::kWidth / 64;
    static_assert(Config::kDepth % 64 == 0 && Config::kWidth % 64 == 0);
    // A slab is 64 columns wide: 128 bytes a row, as the swizzle wants. Columns beyond a tensor's
    // own read as zeros.
    using Slab128 = OperandTile<Element, Major::k, 128, 64, 1>;
    static constexpr int kQBytes = kSlabs * Slab128::kBytes;
    static constexpr int kKBytes = kSlabs * Slab128::kBytes;
    static constexpr int kVBytes = kWideSlabs * Slab128::kBytes;
    using Scores = SharedProduct<Element, kColumns, Major::k, Major::k>;
    using Values = RegisterHalfProduct<Element, Config::kWidth, Major::mn>;
};

template <class Config>
struct AttentionStorage {
    using Shapes = AttentionShapes<Config>;
    alignas(1024) unsigned char q[Shapes::kQBytes];
    alignas(1024) unsigned char k[Config::kStages][Shapes::kKBytes];
    alignas(1024) unsigned char v[Config::kStages][Shapes::kVBytes];
    StoreBuffers<Config::kStoreBuffers> store[8];
    Ring<Config::kStages, 1, 1, 2> k_ring, v_ring;
    FullBarrier q_full;
    EmptyBarrier q_empty;
};

// Loads all slabs of 128 rows from `row` on.
template <class Shapes, int kCount, int kBatches>
__device__ void load_slabs(CUtensorMap const& map, FullBarrier& full, unsigned char* to, int row,
                           int const (&batch)[kBatches]) {
#pragma unroll
    for (int s = 0; s < kCount; ++s)
        Shapes::Slab128::load(map, full, to + s * Shapes::Slab128::kBytes, row, s * 64, batch, 0,
                              0);
}

// The epilogue of the product skeleton as attention uses it: one slab of columns after the other.
template <class Config>
struct AttentionStore {
    using Output = typename Config::Output;
    static constexpr int kTileN = Config::kWidth, kStoreBuffers = Config::kStoreBuffers;
    static constexpr bool kStaged = false;
};
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

template <class Config, class Bias, int kBatches>
__device__ void attention(CUtensorMap const& map_q, CUtensorMap const& map_k,
                          CUtensorMap const& map_v, CUtensorMap const& map_y,
                          AttentionExtentsOf<kBatches> const& extents, Bias const& bias) {
    using At = TileAt<kBatches>;
    using Shapes = AttentionShapes<Config>;
    using Storage = AttentionStorage<Config>;
    extern __shared__ __align__(1024) unsigned char shared[];
    Storage& storage = *reinterpret_cast<Storage*>(shared);
    int const warp_group = cutlass::canonical_warp_group_idx();
    int const tiles = (extents.rows + Shapes::kRows - 1) / Shapes::kRows;
    ExtentsOf<kBatches> output{extents.rows, extents.width, 0, {}};
    int total = tiles;
#pragma unroll
    for (int i = 0; i < kBatches; ++i) total *= output.batch[i] = extents.batch[i];
    // Heavy tiles first: the last rows of a causal problem see the most columns.
    auto const place = [&](int item) {
        At at{tiles - 1 - item % tiles, 0, {}};
        find_in_batch(item / tiles, extents.batch, at.batch);
        return at;
    };
    auto const blocks = [&](At const& at) {
        int const seen =
            Config::kCausal ? min(extents.columns, (at.m + 1) * Shapes::kRows) : extents.columns;
        return (seen + Shapes::kColumns - 1) / Shapes::kColumns;
    };

    if (threadIdx.x == 0) {
        storage.k_ring.init();
        storage.v_ring.init();
        storage.q_full.init(1);
        storage.q_empty.init(2);
        cutlass::arch::fence_barrier_init();
    }
    __syncthreads();

    if (warp_group == 0) {
        cutlass::arch::warpgroup_reg_dealloc<40>();
        if (threadIdx.x != 0) return;
        RingPosition<Config::kStages> k_at{0, 1}, v_at{0, 1};  // the rings start empty
        uint32_t q_phase = 1;
        for (int item = blockIdx.x; item < total; item += gridDim.x, q_phase ^= 1) {
            At const at = place(item);
            storage.q_empty.wait(q_phase);
            storage.q_full.arrive_and_expect_tx(Shapes::kQBytes);
            load_slabs<Shapes, Shapes::kSlabs>(map_q, storage.q_full, storage.q,
                                               at.m * Shapes::kRows, at.batch);
            BatchOf<Config::kBatchK, kBatches> const batch_k(at.batch);
            BatchOf<Config::kBatchV, kBatches> const batch_v(at.batch);
            for (int n = blocks(at) - 1; n >= 0; --n, k_at.advance(), v_at.advance()) {
                auto const load = [&](auto& ring, auto const& position, int bytes) -> FullBarrier& {
                    ring.empty[position.stage].wait(position.phase);
                    ring.full[position.stage].arrive_and_expect_tx(bytes);
                    return ring.full[position.stage];
                };
                FullBarrier& k_full = load(storage.k_ring, k_at, Shapes::kKBytes);
                load_slabs<Shapes, Shapes::kSlabs>(map_k, k_full, storage.k[k_at.stage],
                                                   n * Shapes::kColumns, batch_k.at);
                FullBarrier& v_full = load(storage.v_ring, v_at, Shapes::kVBytes);
                load_slabs<Shapes, Shapes::kWideSlabs>(map_v, v_full, storage.v[v_at.stage],
                                                       n * Shapes::kColumns, batch_v.at);
            }
        }
    } else {
        cutlass::arch::warpgroup_reg_alloc<232>();
        int const group = warp_group - 1, warp = cutlass::canonical_warp_idx() % 4;
        int const lane = threadIdx.x % 32;
        AsIs const as_is;
        Epilogue<AttentionStore<Config>, AsIs, kBatches> epilogue{
            as_is, map_y, map_y, output, storage.store[group * 4 + warp], nullptr, lane};
        typename decltype(Storage::k_ring)::Signature const signature(lane, warp == 0);
        RingPosition<Config::kStages> position;
        uint32_t q_phase = 0;
        for (int item = blockIdx.x; item < total; item += gridDim.x, q_phase ^= 1) {
            At const at = place(item);
            int const row = at.m * Shapes::kRows + group * 64 + warp * 16;
            float sums[1][Config::kWidth / 2];
            RunningSoftmax softmax;
            storage.q_full.wait(q_phase);
            int const count = blocks(at);
            for (int n = count - 1; n >= 0; --n, position.advance()) {
                float scores[1][Shapes::kColumns / 2];
                storage.k_ring.full[position.stage].wait(position.phase);
                pin(scores);
                cute::warpgroup_arrive();
#pragma unroll
                for (int step = 0; step < Config::kDepth / 16; ++step) {
                    int const at_slab = step / 4 * Shapes::Slab128::kBytes + step % 4 * 32;
                    multiply<typename Shapes::Scores>(
                        descriptor(storage.q + group * 64 * 128 + at_slab, 16),
                        descriptor(storage.k[position.stage] + at_slab, 16), scores[0], step > 0);
                }
                cute::warpgroup_commit_batch();
                cute::warpgroup_wait<0>();
                pin(scores);
                storage.k_ring.release(position.stage, signature);

                ScorePlace<kBatches> const here{row + lane / 4,
                                                n * Shapes::kColumns + 2 * (lane % 4), at.batch};
                finish_scores<Config>(scores[0], here, extents.rows, extents.columns, bias);
                float shrink[2];
                softmax.take(scores[0], shrink);
                if (n + 1 < count) scale_rows(sums[0], shrink);
                uint32_t weights[Shapes::kColumns / 16][4];
                as_operand<typename Config::Element>(scores[0], weights);

                storage.v_ring.full[position.stage].wait(position.phase);
                pin(sums);
                cute::warpgroup_arrive();
#pragma unroll
                for (int step = 0; step < Shapes::kColumns / 16; ++step)
                    multiply<typename Shapes::Values>(
                        weights[step],
                        descriptor(storage.v[position.stage] + step * 16 * 128,
                                   Shapes::Slab128::kBytes),
                        sums[0], n + 1 < count || step > 0);
                cute::warpgroup_commit_batch();
                cute::warpgroup_wait<0>();
                pin(sums);
                storage.v_ring.release(position.stage, signature);
            }
            storage.q_empty.arrive(0, lane == 0 && warp == 0);
            float inverse[2];
            softmax.finish(inverse);
            scale_rows(sums[0], inverse);
            AsIs::Fetched fetched;
            epilogue.finish(sums[0], at, row, 0, fetched, true, 0);
        }
        epilogue.drain();
    }
}

}  // namespace fact::sm90
