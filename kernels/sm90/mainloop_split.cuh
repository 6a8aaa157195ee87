// The product of f32 operands on TF32 tensor cores, as accurate as f32 arithmetic: each operand is
// a large and a small TF32 part, the three products that matter are summed, small ones first, and
// every k-tile's sum is added to f32 registers before the tensor core's own rounding can build up.
//
// A is split on its way through registers, so activations need no pass of their own and may be
// contiguous along M or K. B comes as planes prepared by split_pass.cuh, contiguous along K.
// With kParts = 1 both are rounded to TF32 and multiplied once.
#pragma once

#include "producer.cuh"

namespace fact::sm90 {

template <class Config>
struct MainloopSplit {
    static constexpr int kTileK = 32, kParts = Config::kParts, kSteps = kTileK / 8;
    static_assert(Config::kTileK == kTileK && !Config::kPingpong);
    using TileA = OperandTile<float, Config::kMajorA, Config::kTileM, kTileK, Config::kClusterN>;
    using TileB = OperandTile<float, Major::k, Config::kTileN, kTileK, Config::kClusterM>;
    static constexpr int kStageBytes = TileA::kBytes + kParts * TileB::kBytes;
    static constexpr int kReleases = 8;  // each warp reads A itself, and signs for itself
    __device__ static constexpr bool signs(int) { return true; }
    static constexpr int kBlocks = Config::kTileM / 128;
    using Product = RegisterProduct<Config::kTileN>;
    using Sums = float[kBlocks][Config::kTileN / 2];

    struct Maps {
        CUtensorMap const &a, &b;
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
            int batch = 0;  // among the planes, one after another for what B varies with
#pragma unroll
            for (int i = 0; i < kBatches; ++i)
                if (Config::kBatchB >> i & 1) batch = batch * extents.batch[i] + at.batch[i];
#pragma unroll
            for (int part = 0; part < kParts; ++part) {
                int const plane[] = {batch, part};
                TileB::load(b, full, stage + TileA::kBytes + part * TileB::kBytes,
                            at.n * Config::kTileN, k, plane, m, Multicast<Config>::of_b(n));
            }
            if constexpr (kSharesB) load_a();
        }
    };

    __device__ static int block_of(int group, int i) { return i * 2 + group; }

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

    // The A values a lane multiplies in one k-tile, as TF32 parts.
    struct Fragments {
        uint32_t large[kBlocks][kSteps][4], small[kBlocks][kSteps][4];

        // The registers are written before this point: the asynchronous products read them after.
        __device__ void pin() {
            uint32_t* words = &large[0][0][0];
#pragma unroll
            for (int i = 0; i < 2 * kBlocks * kSteps * 4; ++i)
                cute::warpgroup_fence_operand(words[i]);
        }
    };

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
        read(a, stages + position.stage * kStageBytes, group);
        for (int k = 0; k < k_tiles; ++k) {
            unsigned char const* b = stages + position.stage * kStageBytes + TileA::kBytes;
            Sums tile;
            pin(tile);
            a.pin();
            cute::warpgroup_arrive();
            if constexpr (kParts == 2) {
                products(a.small, b, tile, false);
                products(a.large, b + TileB::kBytes, tile, true);
            }
            products(a.large, b, tile, kParts == 2);
            cute::warpgroup_commit_batch();
            int const used = position.stage;
            position.advance();
            Fragments next;
            if (k + 1 < k_tiles) {  // the next tile is split while this one is multiplied
                ring.full[position.stage].wait(position.phase);
                read(next, stages + position.stage * kStageBytes, group);
            }
            cute::warpgroup_wait<0>();
            pin(tile);
            ring.release(used, signature);
#pragma unroll
            for (int i = 0; i < kBlocks; ++i)
#pragma unroll
                for (int j = 0; j < Config::kTileN / 2; ++j) sums[i][j] += tile[i][j];
            if (k % kChunk == kChunk - 1) total.take(sums);
            a = next;
        }
        total.give(sums);
    }

    template <class Ring, class Position>
    __device__ static void finish(Ring&, typename Ring::Signature const&, Position const&, Sums&) {}

  private:
    __device__ static void products(uint32_t const (&a)[kBlocks][kSteps][4], unsigned char const* b,
                                    Sums& sums, bool accumulate) {
#pragma unroll
        for (int step = 0; step < kSteps; ++step)
#pragma unroll
            for (int i = 0; i < kBlocks; ++i)
                multiply<Product>(a[i][step], descriptor(b + step * 32, 16), sums[i],
                                  accumulate || step > 0);
    }

    __device__ static void read(Fragments& to, unsigned char const* tile, int group) {
        int const lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
#pragma unroll
        for (int i = 0; i < kBlocks; ++i)
#pragma unroll
            for (int step = 0; step < kSteps; ++step)
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    int const row = block_of(group, i) * 64 + warp * 16 + lane / 4 + 8 * (e % 2);
                    int const k = step * 8 + lane % 4 + 4 * (e / 2);
                    float const x = element(tile, row, k);
                    uint32_t const large = to_tf32(x);
                    to.large[i][step][e] = large;
                    to.small[i][step][e] = to_tf32(x - __uint_as_float(large));
                }
    }

    __device__ static float element(unsigned char const* tile, int row, int k) {
        int const outer = Config::kMajorA == Major::k ? row : k;
        int const inner = Config::kMajorA == Major::k ? k : row % 32;
        int const slab = Config::kMajorA == Major::k ? 0 : row / 32 * (kTileK * 128);
        int const chunk = (inner / 4) ^ (outer & 7);
        return *reinterpret_cast<float const*>(tile + slab + outer * 128 + chunk * 16 +
                                               inner % 4 * 4);
    }
};

}  // namespace fact::sm90
