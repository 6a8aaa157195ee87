// An operand of a product in memory: a matrix, windows of images, or rows that overlap.
#pragma once

#include "../common/windows.cuh"
#include "producer.cuh"

namespace fact::sm90 {

// Each operand has a `Position` along K, which begins with a stretch of k-tiles and goes on from
// one to the next: what takes divisions is computed once, not between a free stage and its load.
// depth() is where the k-tile at `k` begins in the other operand.
struct MatrixOperand {
    CUtensorMap const& map;

    struct Position {
        __device__ static int depth(int k) { return k; }
    };
    template <class Tile, int kBatches>
    __device__ static Position begin(int, int, int const (&)[kBatches], int) {
        return {};
    }
    template <int kTileK>
    __device__ static void advance(Position&) {}

    template <class Tile, int kBatches>
    __device__ void load(FullBarrier& full, unsigned char* stage, Position const&, int row, int k,
                         int const (&batch)[kBatches], int share, uint16_t mask) const {
        Tile::load(map, full, stage, row, k, batch, share, mask);
    }
};

// TMA's im2col mode walks the windows by itself, from that of the tile's first row on; elements
// outside of an image, channels that it lacks and images after the last are zeros.
template <class Windows>
struct WindowsOperand {
    CUtensorMap const& map;
    Windows const& windows;

    struct Position {
        typename Windows::Place place;
        typename Windows::Tap tap;
        __device__ int depth(int) const { return tap.row; }
    };
    template <class Tile, int kBatches>
    __device__ Position begin(int row, int k, int const (&batch)[kBatches], int share) const {
        int image = 0;  // the batch has no other dimension than images
#pragma unroll
        for (int i = 0; i < kBatches; ++i) image += batch[i];
        return {windows.place(row + share * (Tile::kTile / Tile::kShared), image),
                windows.template tap<Tile::kTileK>(k)};
    }
    template <int kTileK>
    __device__ void advance(Position& position) const {
        windows.template advance<kTileK>(position.tap);
    }

    template <class Tile, int kBatches>
    __device__ void load(FullBarrier& full, unsigned char* stage, Position const& position, int,
                         int, int const (&)[kBatches], int share, uint16_t mask) const {
        static_assert(Tile::kMajor == Major::k && Tile::kRowBytes == 128);
        constexpr int kRows = Tile::kTile / Tile::kShared;
        auto const& at = position.place;
        auto const& tap = position.tap;
        unsigned char* const to = stage + share * kRows * Tile::kRowBytes;
        uint64_t* const barrier = reinterpret_cast<uint64_t*>(&full);
        uint16_t offset[Windows::kDims];
#pragma unroll
        for (int i = 0; i < Windows::kDims; ++i) offset[i] = static_cast<uint16_t>(tap.offset[i]);
        auto const& first = at.first;
        if constexpr (Tile::kShared == 1) {
            if constexpr (Windows::kDims == 1)
                cute::SM90_TMA_LOAD_IM2COL_3D::copy(&map, barrier, to, tap.channel, first[0],
                                                    at.image, offset[0]);
            else if constexpr (Windows::kDims == 2)
                cute::SM90_TMA_LOAD_IM2COL_4D::copy(&map, barrier, to, tap.channel, first[0],
                                                    first[1], at.image, offset[0], offset[1]);
            else
                cute::SM90_TMA_LOAD_IM2COL_5D::copy(&map, barrier, to, tap.channel, first[0],
                                                    first[1], first[2], at.image, offset[0],
                                                    offset[1], offset[2]);
        } else {
            if constexpr (Windows::kDims == 1)
                cute::SM90_TMA_LOAD_IM2COL_MULTICAST_3D::copy(&map, barrier, mask, to, tap.channel,
                                                              first[0], at.image, offset[0]);
            else if constexpr (Windows::kDims == 2)
                cute::SM90_TMA_LOAD_IM2COL_MULTICAST_4D::copy(&map, barrier, mask, to, tap.channel,
                                                              first[0], first[1], at.image,
                                                              offset[0], offset[1]);
            else
                cute::SM90_TMA_LOAD_IM2COL_MULTICAST_5D::copy(
                    &map, barrier, mask, to, tap.channel, first[0], first[1], first[2], at.image,
                    offset[0], offset[1], offset[2]);
        }
    }
};

// Rows that overlap are a batch of matrices, one for each tap of the outer dimensions and image.
template <class Rows>
struct OverlappingOperand {
    CUtensorMap const& map;

    struct Position {
        typename Rows::Tap tap;
        __device__ static int depth(int k) { return k; }
    };
    template <class Tile, int kBatches>
    __device__ static Position begin(int, int k, int const (&)[kBatches], int) {
        return {Rows::tap(k)};
    }
    template <int kTileK>
    __device__ static void advance(Position& position) {
        Rows::template advance<kTileK>(position.tap);
    }

    template <class Tile, int kBatches>
    __device__ void load(FullBarrier& full, unsigned char* stage, Position const& position, int row,
                         int, int const (&batch)[kBatches], int share, uint16_t mask) const {
        static_assert(Tile::kMajor == Major::k && Tile::kRowBytes == 128);
        constexpr int kOuter = Rows::kOuter;
        auto const& tap = position.tap;
        int matrix[kOuter > 1 ? kOuter + 1 : 2] = {};
#pragma unroll
        for (int i = 0; i < kOuter; ++i) matrix[i] = tap.outer[i];
#pragma unroll
        for (int i = 0; i < kBatches; ++i) matrix[kOuter] += batch[i];  // images are its only batch
        Tile::load(map, full, stage, row, tap.column, matrix, share, mask);
    }
};

// Each operand is a matrix, unless Config has WindowsA or WindowsB, or RowsA for rows that overlap.
template <class Config, class = void>
struct OperandTypeA {
    using Type = MatrixOperand;
};
template <class Config>
struct OperandTypeA<Config, std::void_t<typename Config::WindowsA>> {
    using Type = WindowsOperand<typename Config::WindowsA>;
};
template <class Config>
struct OperandTypeA<Config, std::void_t<typename Config::RowsA>> {
    using Type = OverlappingOperand<typename Config::RowsA>;
};
template <class Config>
using OperandA = typename OperandTypeA<Config>::Type;

template <class Config, class = void>
struct OperandTypeB {
    using Type = MatrixOperand;
};
template <class Config>
struct OperandTypeB<Config, std::void_t<typename Config::WindowsB>> {
    using Type = WindowsOperand<typename Config::WindowsB>;
};
template <class Config>
using OperandB = typename OperandTypeB<Config>::Type;

// Where both operands of a tile are along K.
template <class A, class B>
struct Positions {
    typename A::Position a;
    typename B::Position b;
};

}  // namespace fact::sm90
