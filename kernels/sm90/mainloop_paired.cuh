// Two products of one matrix with two others, 16-bit operands: side by side in a tile, so that each
// thread holds both sums of its positions and A is read once.
#pragma once

#include "mainloop_half.cuh"

namespace fact::sm90 {

template <class Config>
struct MainloopPaired : MainloopHalf<Config> {
    using Half = MainloopHalf<Config>;
    using TileA = typename Half::TileA;
    // A product's own half of the tile's columns; the two follow each other in a stage.
    using TileB = OperandTile<typename Half::Element, Config::kMajorB, Config::kTileN / 2,
                              Half::kTileK, Config::kClusterM>;

    struct Operands {
        MatrixOperand a, b;
        CUtensorMap const& other;  // the second product's counterpart of b
        using Positions = sm90::Positions<MatrixOperand, MatrixOperand>;

        template <int kBatches>
        __device__ static Positions begin(TileAt<kBatches> const&, int, int) {
            return {};
        }
        __device__ static void advance(Positions&) {}
        template <int kBatches>
        __device__ void load(FullBarrier& full, unsigned char* stage, TileAt<kBatches> const& at,
                             ExtentsOf<kBatches> const&, Positions const&, int k, int rank) const {
            int const m = rank % Config::kClusterM, n = rank / Config::kClusterM;
            BatchOf<Config::kBatchA, kBatches> const batch_a(at.batch);
            BatchOf<Config::kBatchB, kBatches> const batch_b(at.batch);
            auto const load_b = [&](CUtensorMap const& map, unsigned char* to) {
                TileB::load(map, full, to, at.n * kTileColumns<Config>, k, batch_b.at, m,
                            Multicast<Config>::of_b(n));
            };
            // As in MainloopHalf, the tile that other blocks wait for too is loaded first.
            constexpr bool kSharesB = Config::kClusterM > 1;
            auto const load_a = [&] {
                TileA::load(a.map, full, stage, at.m * Config::kTileM, k, batch_a.at, n,
                            Multicast<Config>::of_a(m));
            };
            if constexpr (!kSharesB) load_a();
            load_b(b.map, stage + TileA::kBytes);
            load_b(other, stage + TileA::kBytes + TileB::kBytes);
            if constexpr (kSharesB) load_a();
        }
    };
};

}  // namespace fact::sm90
