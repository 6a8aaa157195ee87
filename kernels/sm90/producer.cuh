// The producer: one thread that keeps the ring of stages filled through TMA, sharing tiles between
// the blocks of a cluster.
#pragma once

#include "boxes.cuh"
#include "tiles.cuh"
#include "wgmma.cuh"

namespace fact::sm90 {

// Which blocks of a cluster take part in a multicast: those that share a tile of A (the block's row
// of the cluster) or of B (its column). Ranks run along M first.
template <class Config>
struct Multicast {
    __device__ static constexpr uint16_t of_a(int m) {
        uint16_t mask = 0;
        for (int n = 0; n < Config::kClusterN; ++n) mask |= 1 << (n * Config::kClusterM + m);
        return mask;
    }
    __device__ static constexpr uint16_t of_b(int n) {
        return ((1 << Config::kClusterM) - 1) << (n * Config::kClusterM);
    }
};

// How one operand of the product is laid out in memory and in a stage. kTile is its extent along M
// or N, kShared how many blocks of the cluster need the same tile and load a part of it each.
template <class Element_, Major kMajor_, int kTile_, int kTileK_, int kShared_>
struct OperandTile {
    using Element = Element_;
    static constexpr Major kMajor = kMajor_;
    static constexpr int kTile = kTile_, kTileK = kTileK_, kShared = kShared_;
    static constexpr int kRowBytes = kMajor == Major::k ? kTileK * sizeof(Element) : 128;
    static constexpr int kRow = kRowBytes / sizeof(Element);  // elements in a swizzled row
    static constexpr int kBytes = kTile * kTileK * sizeof(Element);
    static_assert(kRowBytes == 128 || kRowBytes == 64);
    static_assert(kMajor == Major::k ? kTile % kShared == 0 : (kTile / kRow) % kShared == 0);
    static_assert(kMajor == Major::k || kTile % kRow == 0);

    // Loads this block's part of the tile whose first row is `row`, at depth `k`, for all blocks in
    // `mask`; `share` says which part is this block's.
    template <int kBatches>
    __device__ static void load(CUtensorMap const& map, FullBarrier& full, unsigned char* stage,
                                int row, int k, int const (&batch)[kBatches], int share,
                                uint16_t mask) {
        if constexpr (kMajor == Major::k) {
            constexpr int kRows = kTile / kShared;
            copy(map, full, stage + share * kRows * kRowBytes, k, row + share * kRows, batch, mask);
        } else {
            constexpr int kSlabs = kTile / kRow / kShared;
#pragma unroll
            for (int s = 0; s < kSlabs; ++s) {
                int const slab = share * kSlabs + s;
                copy(map, full, stage + slab * kTileK * 128, row + slab * kRow, k, batch, mask);
            }
        }
    }

  private:
    template <int kBatches>
    __device__ static void copy(CUtensorMap const& map, FullBarrier& full, unsigned char* to, int x,
                                int y, int const (&batch)[kBatches], uint16_t mask) {
        if constexpr (kShared == 1)
            load_box(map, full, to, x, y, batch, cute::TMA::CacheHintSm90::EVICT_NORMAL);
        else
            load_box_shared(map, full, to, x, y, batch, mask);
    }
};

}  // namespace fact::sm90
