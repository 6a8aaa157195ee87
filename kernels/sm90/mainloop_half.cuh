// The product of 16-bit operands, or of f32 operands as TF32 numbers: both read from shared memory
// by wgmma, sums in f32 registers. TF32 is what is left of f32 without its last 13 bits.
#pragma once

#include "product_operand.cuh"

namespace fact::sm90 {

template <class Config>
struct MainloopHalf {
    using Element = typename Config::Element;
    static constexpr int kTileK = 128 / sizeof(Element);
    static_assert(Config::kTileK == kTileK);
    using TileA = OperandTile<Element, Config::kMajorA, Config::kTileM, kTileK, Config::kClusterN>;
    using TileB = OperandTile<Element, Config::kMajorB, Config::kTileN, kTileK, Config::kClusterM>;
    static constexpr int kStageBytes = TileA::kBytes + TileB::kBytes;
    // Releases of a stage per thread block: the first warp of each group arrives for the whole
    // group, since a warp-group product ends for all its warps at once.
    static constexpr int kReleases = Config::kPingpong ? 1 : 2;
    __device__ static constexpr bool arrives(int warp) { return warp == 0; }
    // Blocks of 64 rows that a consumer group computes.
    static constexpr int kBlocks = Config::kTileM / 64 / (Config::kPingpong ? 1 : 2);
    using Product = SharedProduct<Element, Config::kTileN, Config::kMajorA, Config::kMajorB>;
    using Sums = float[kBlocks][Config::kTileN / 2];
    // How many other blocks' sums PartialSums loads at once when it adds them; with smaller tiles,
    // two made ptxas spill.
    static constexpr int kSumsAtOnce = kBlocks * Config::kTileN / 2 == 64 ? 2 : 1;

    struct Operands {
        OperandA<Config> a;
        OperandB<Config> b;
        using Positions = sm90::Positions<OperandA<Config>, OperandB<Config>>;

        template <int kBatches>
        __device__ Positions begin(TileAt<kBatches> const& at, int k, int rank) const {
            int const m = rank % Config::kClusterM, n = rank / Config::kClusterM;
            BatchOf<Config::kBatchA, kBatches> const batch_a(at.batch);
            BatchOf<Config::kBatchB, kBatches> const batch_b(at.batch);
            return {a.template begin<TileA>(at.m * Config::kTileM, k, batch_a.at, n),
                    b.template begin<TileB>(at.n * Config::kTileN, k, batch_b.at, m)};
        }
        __device__ void advance(Positions& positions) const {
            a.template advance<kTileK>(positions.a);
            b.template advance<kTileK>(positions.b);
        }
        template <int kBatches>
        __device__ void load(FullBarrier& full, unsigned char* stage, TileAt<kBatches> const& at,
                             ExtentsOf<kBatches> const&, Positions const& positions, int k,
                             int rank) const {
            int const m = rank % Config::kClusterM, n = rank / Config::kClusterM;
            BatchOf<Config::kBatchA, kBatches> const batch_a(at.batch);
            BatchOf<Config::kBatchB, kBatches> const batch_b(at.batch);
            auto const load_a = [&] {
                a.template load<TileA>(full, stage, positions.a, at.m * Config::kTileM,
                                       positions.b.depth(k), batch_a.at, n,
                                       Multicast<Config>::of_a(m));
            };
            // The tile that other blocks wait for too is loaded first: measured up to 10 % faster.
            constexpr bool kSharesB = Config::kClusterM > 1;
            if constexpr (!kSharesB) load_a();
            b.template load<TileB>(full, stage + TileA::kBytes, positions.b, at.n * Config::kTileN,
                                   positions.a.depth(k), batch_b.at, m, Multicast<Config>::of_b(n));
            if constexpr (kSharesB) load_a();
        }
    };

    // The epilogue's functor can take the sums as they are.
    template <class Functor, class AnyOperands>
    __device__ static Functor const& adapt_functor(Functor const& functor, AnyOperands const&) {
        return functor;
    }

    // The 64-row block of the tile that a consumer group computes as its i-th.
    static constexpr int kBlockStride = Config::kPingpong ? 1 : 2;
    __device__ static int block_of(int group, int i) {
        return Config::kPingpong ? i : i * kBlockStride + group;
    }

    // A long sum in the tensor core loses bits. Tiles with registers to spare sum at most this many
    // k-tiles there, and add those sums in f32.
    static constexpr int kChunk = 512;
    static constexpr bool kTwoLevels = kBlocks * Config::kTileN / 2 <= 64;

    // All k-tiles of one output tile. Leaves the last products in flight: drain() waits for them.
    template <class Ring, class Position>
    __device__ static void run(Ring& ring, typename Ring::Arrival const& arrival,
                               unsigned char* stages, Position& position, int k_tiles, int group,
                               Sums& sums) {
        if constexpr (!kTwoLevels) {
            run_chunk(ring, arrival, stages, position, k_tiles, group, sums);
        } else {
            Sums total{};
            for (int left = k_tiles; left > 0; left -= kChunk) {
                run_chunk(ring, arrival, stages, position, min(left, kChunk), group, sums);
                if (k_tiles <= kChunk) return;
                cute::warpgroup_wait<0>();
                pin(sums);
                if (left > kChunk) ring.release(position.before(), arrival);
                add(total, sums);
            }
#pragma unroll
            for (int i = 0; i < kBlocks; ++i)
#pragma unroll
                for (int j = 0; j < Config::kTileN / 2; ++j) sums[i][j] = total[i][j];
        }
    }

    template <class Ring, class Position>
    __device__ static void drain(Ring& ring, typename Ring::Arrival const& arrival,
                                 Position const& position, Sums& sums) {
        cute::warpgroup_wait<0>();
        pin(sums);
        ring.release(position.before(), arrival);
    }

  private:
    template <class Ring, class Position>
    __device__ static void run_chunk(Ring& ring, typename Ring::Arrival const& arrival,
                                     unsigned char* stages, Position& position, int k_tiles,
                                     int group, Sums& sums) {
        for (int k = 0; k < k_tiles; ++k) {
            ring.full[position.stage].wait(position.phase);
            unsigned char const* stage = stages + position.stage * kStageBytes;
            uint64_t const a = operand<TileA>(stage + block_of(group, 0) * kBlockBytes);
            uint64_t const b = operand<TileB>(stage + TileA::kBytes);
            pin(sums);
            cute::warpgroup_arrive();
#pragma unroll
            for (int step = 0; step < kTileK / kStep; ++step)
#pragma unroll
                for (int i = 0; i < kBlocks; ++i)
                    multiply<Product>(
                        advanced(a, i * kBlockStride * kBlockBytes + step * kStepBytes<TileA>),
                        advanced(b, step * kStepBytes<TileB>), sums[i], k + step > 0);
            cute::warpgroup_commit_batch();
            cute::warpgroup_wait<1>();
            pin(sums);
            if (k > 0) ring.release(position.before(), arrival);
            position.advance();
        }
    }

    __device__ static void add(Sums& to, Sums const& more) {
#pragma unroll
        for (int i = 0; i < kBlocks; ++i)
#pragma unroll
            for (int j = 0; j < Config::kTileN / 2; ++j) to[i][j] += more[i][j];
    }

    static constexpr int kStep = 32 / sizeof(Element);                 // along K, of one product
    static constexpr int kBlockBytes = 64 * kTileK * sizeof(Element);  // of 64 rows of A
    template <class Tile>
    static constexpr int kStepBytes = kStep * (Tile::kMajor == Major::k ? sizeof(Element) : 128);

    template <class Tile>
    __device__ static uint64_t operand(unsigned char const* tile) {
        return descriptor(tile, Tile::kMajor == Major::k ? 16 : kTileK * 128);
    }
};

}  // namespace fact::sm90
