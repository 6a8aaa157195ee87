// The product of f32 operands on tensor cores. A is brought into the tensor cores' numbers on its
// way through registers, so activations need no pass of their own and may be contiguous along M or
// K. B comes prepared by prepare_pass.cuh: blocks of 32 along K, of N rows of 128 bytes each. Every
// k-tile's sum is added to f32 registers before the tensor core's own rounding can build up.
//
// `Numbers` (single_numbers.cuh) says what those numbers are: two f16 parts, or one TF32 number.
#pragma once

#include "producer.cuh"

namespace fact::sm90 {

template <class Config, class Numbers>
struct MainloopSingle {
    static constexpr int kTileK = 32;
    static_assert(Config::kTileK == kTileK && !Config::kPingpong);
    using TileA = OperandTile<float, Config::kMajorA, Config::kTileM, kTileK, Config::kClusterN>;
    using TileB = OperandTile<float, Major::k, Config::kTileN, kTileK, Config::kClusterM>;
    static constexpr int kStageBytes = TileA::kBytes + TileB::kBytes;
    static constexpr int kReleases = 8;  // each warp reads A itself, and signs for itself
    __device__ static constexpr bool signs(int) { return true; }
    static constexpr int kBlocks = Config::kTileM / 128;
    using Sums = float[kBlocks][Config::kTileN / 2];
    static constexpr int kSumsAtOnce = 1;  // other blocks', that the registers hold

    struct Operands {
        CUtensorMap const &a, &b;
        typename Numbers::Scales scales;  // of B's rows

        template <int kBatches>
        __device__ void load(FullBarrier& full, unsigned char* stage, TileAt<kBatches> const& at,
                             ExtentsOf<kBatches> const& extents, int k, int rank) const {
            int const m = rank % Config::kClusterM, n = rank / Config::kClusterM;
            BatchOf<Config::kBatchA, kBatches> const batch_a(at.batch);
            auto const load_a = [&] {
                TileA::load(a, full, stage, at.m * Config::kTileM, k, batch_a.at, n,
                            Multicast<Config>::of_a(m));
            };
            constexpr bool kSharesB = Config::kClusterM > 1;  // what is shared goes first
            if constexpr (!kSharesB) load_a();
            int const block[] = {k / kTileK, batch_of_b(at, extents)};
            TileB::load(b, full, stage + TileA::kBytes, at.n * Config::kTileN, 0, block, m,
                        Multicast<Config>::of_b(n));
            if constexpr (kSharesB) load_a();
        }
    };

    __device__ static int block_of(int group, int i) { return i * 2 + group; }

    template <class Ring, class Position>
    __device__ static void run(Ring& ring, typename Ring::Signature const& signature,
                               unsigned char* stages, Position& position, int k_tiles, int group,
                               Sums& sums) {
#pragma unroll
        for (auto& block : sums)
#pragma unroll
            for (float& x : block) x = 0.f;
        Total total;
        Fragments a;
        ring.full[position.stage].wait(position.phase);
        a.read(stages + position.stage * kStageBytes, group);
        for (int k = 0; k < k_tiles; ++k) {
            unsigned char const* b = stages + position.stage * kStageBytes + TileA::kBytes;
            Sums tile;
            pin(tile);
            a.pin();
            cute::warpgroup_arrive();
            a.multiply(b, tile);
            cute::warpgroup_commit_batch();
            int const used = position.stage;
            position.advance();
            Fragments next;
            if (k + 1 < k_tiles) {  // the next tile is converted while this one is multiplied
                ring.full[position.stage].wait(position.phase);
                next.read(stages + position.stage * kStageBytes, group);
            }
            cute::warpgroup_wait<0>();
            pin(tile);
            ring.release(used, signature);
            a.add(tile, sums);
            if (k % kChunk == kChunk - 1) total.take(sums);
            a = next;
        }
        total.give(sums);
    }

    template <class Ring, class Position, int kBatches>
    __device__ static void finish(Ring&, typename Ring::Signature const&, Position const&,
                                  Operands const& operands, TileAt<kBatches> const& at,
                                  ExtentsOf<kBatches> const& extents, Sums& sums) {
        if constexpr (Numbers::kScaled) {
            float const* scales =
                operands.scales.data + static_cast<int64_t>(batch_of_b(at, extents)) * extents.n;
            int const first = at.n * Config::kTileN + threadIdx.x % 4 * 2;
#pragma unroll
            for (int j = 0; j < Config::kTileN / 4; ++j) {
                int const column = first + j / 2 * 8 + j % 2;
                float const scale = column < extents.n ? scales[column] : 0.f;
#pragma unroll
                for (auto& block : sums) {
                    block[j / 2 * 4 + j % 2] *= scale;
                    block[j / 2 * 4 + j % 2 + 2] *= scale;
                }
            }
        }
    }

  private:
    // Among B's own matrices, one after another for what it varies with.
    template <int kBatches>
    __device__ static int batch_of_b(TileAt<kBatches> const& at,
                                     ExtentsOf<kBatches> const& extents) {
        int batch = 0;
#pragma unroll
        for (int i = 0; i < kBatches; ++i)
            if (Config::kBatchB >> i & 1) batch = batch * extents.batch[i] + at.batch[i];
        return batch;
    }

    // A long sum is rounded more often than a short one: tiles with registers to spare add up sums
    // of at most this many k-tiles.
    static constexpr int kChunk = 256;
    struct Total {
        static constexpr bool kKept = kBlocks * Config::kTileN / 2 <= 32;
        Sums values{};
        __device__ void take(Sums& sums) {
            if constexpr (kKept) {
#pragma unroll
                for (int i = 0; i < kBlocks; ++i)
#pragma unroll
                    for (int j = 0; j < Config::kTileN / 2; ++j) {
                        values[i][j] += sums[i][j];
                        sums[i][j] = 0.f;
                    }
            }
        }
        __device__ void give(Sums& sums) const {
            if constexpr (kKept) {
#pragma unroll
                for (int i = 0; i < kBlocks; ++i)
#pragma unroll
                    for (int j = 0; j < Config::kTileN / 2; ++j) sums[i][j] += values[i][j];
            }
        }
    };

    // A lane's numbers of A in one k-tile, and what becomes of them.
    struct Fragments {
        typename Numbers::Fragment blocks[kBlocks];

        __device__ void read(unsigned char const* tile, int group) {
            int const lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
#pragma unroll
            for (int i = 0; i < kBlocks; ++i)
                blocks[i].read(tile, block_of(group, i) * 64 + warp * 16 + lane / 4, lane % 4);
        }
        // The registers are written before this point: the asynchronous products read them after.
        __device__ void pin() {
#pragma unroll
            for (auto& block : blocks) block.pin();
        }
        __device__ void multiply(unsigned char const* b, Sums& tile) const {
#pragma unroll
            for (int i = 0; i < kBlocks; ++i)
                blocks[i].template multiply<Config::kTileN>(b, tile[i]);
        }
        __device__ void add(Sums const& tile, Sums& sums) const {
#pragma unroll
            for (int i = 0; i < kBlocks; ++i)
#pragma unroll
                for (int j = 0; j < Config::kTileN / 2; ++j)
                    sums[i][j] = blocks[i].added(sums[i][j], tile[i][j], j % 4 / 2);
        }
    };
};

}  // namespace fact::sm90
