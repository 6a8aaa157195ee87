// The operands of an f32 product. A is converted to the tensor cores' numbers on its way through
// registers, so activations need no pass of their own and may be contiguous along M or K. B has
// been prepared by prepare_pass.cuh: blocks of 32 along K, each of N rows of f16 numbers.
//
// `Numbers` (single_numbers.cuh) says what those numbers are.
#pragma once

#include "product_operand.cuh"
#include "single_numbers.cuh"
#include "unscaled_functor.cuh"

namespace fact::sm90 {

template <class Config, class Numbers_>
struct SingleOperands {
    using Numbers = Numbers_;
    static constexpr int kTileK = 32;
    static_assert(Config::kTileK == kTileK);
    using TileA = OperandTile<float, Config::kMajorA, Config::kTileM, kTileK, Config::kClusterN>;
    // A row of B has all parts of its numbers.
    using TileB =
        OperandTile<half, Major::k, Config::kTileN, kTileK * Numbers::kParts, Config::kClusterM>;
    static constexpr int kStageBytes = TileA::kBytes + TileB::kBytes;
    static constexpr int kGroups = Config::kPingpong ? 1 : 2;  // on one tile
    static constexpr int kReleases = 4 * kGroups;  // each warp reads A itself and arrives itself
    __device__ static constexpr bool arrives(int) { return true; }
    static constexpr int kBlocks = Config::kTileM / 64 / kGroups;
    using Sums = float[kBlocks][Config::kTileN / 2];
    static constexpr int kSumsAtOnce = 1;  // how many other blocks' sums PartialSums loads at once

    // The 64-row block of the tile that a consumer group computes as its i-th.
    __device__ static int block_of(int group, int i) {
        return Config::kPingpong ? i : i * kGroups + group;
    }

    struct Operands {
        OperandA<Config> a;
        MatrixOperand b;
        RowScalesOfB scales;

        using Positions = sm90::Positions<OperandA<Config>, MatrixOperand>;

        template <int kBatches>
        __device__ Positions begin(TileAt<kBatches> const& at, int k, int rank) const {
            BatchOf<Config::kBatchA, kBatches> const batch_a(at.batch);
            return {a.template begin<TileA>(at.m * Config::kTileM, k, batch_a.at,
                                            rank / Config::kClusterM),
                    {}};
        }
        __device__ void advance(Positions& positions) const {
            a.template advance<kTileK>(positions.a);
        }
        template <int kBatches>
        __device__ void load(FullBarrier& full, unsigned char* stage, TileAt<kBatches> const& at,
                             ExtentsOf<kBatches> const& extents, Positions const& positions, int k,
                             int rank) const {
            int const m = rank % Config::kClusterM, n = rank / Config::kClusterM;
            BatchOf<Config::kBatchA, kBatches> const batch_a(at.batch);
            auto const load_a = [&] {
                a.template load<TileA>(full, stage, positions.a, at.m * Config::kTileM, k,
                                       batch_a.at, n, Multicast<Config>::of_a(m));
            };
            constexpr bool kSharesB = Config::kClusterM > 1;  // what is shared is loaded first
            if constexpr (!kSharesB) load_a();
            // Of windows, channels are a multiple of a block: a tap begins at a block of B.
            int const block[] = {positions.a.depth(k) / kTileK,
                                 batch_of_b<Config>(at.batch, extents)};
            TileB::load(b.map, full, stage + TileA::kBytes, at.n * Config::kTileN, 0, block, m,
                        Multicast<Config>::of_b(n));
            if constexpr (kSharesB) load_a();
        }
    };

    // Makes the epilogue undo the scales of B first.
    template <class Functor>
    __device__ static UnscaledFunctor<Config, Functor> adapt_functor(Functor const& functor,
                                                                     Operands const& operands) {
        return {functor, operands.scales};
    }
};

}  // namespace fact::sm90
