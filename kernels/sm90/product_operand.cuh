// An operand of a product in memory: a matrix, windows of images, or rows that overlap.
#pragma once

#include "../common/windows.cuh"
#include "producer.cuh"

namespace fact::sm90 {

struct MatrixOperand {
    CUtensorMap const& map;

    // Where the k-tile at `k` begins in the other operand.
    template <int kTileK>
    __device__ int depth(int k) const {
        return k;
    }

    template <class Tile, int kBatches>
    __device__ void load(FullBarrier& full, unsigned char* stage, int row, int k,
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

    template <int kTileK>
    __device__ int depth(int k) const {
        return windows.template tap<kTileK>(k).row;
    }

    template <class Tile, int kBatches>
    __device__ void load(FullBarrier& full, unsigned char* stage, int row, int k,
                         int const (&batch)[kBatches], int share, uint16_t mask) const {
        static_assert(Tile::kMajor == Major::k && Tile::kRowBytes == 128);
        constexpr int kRows = Tile::kTile / Tile::kShared;
        int image = 0;  // the batch has no other dimension than images
#pragma unroll
        for (int i = 0; i < kBatches; ++i) image += batch[i];
        auto const at = windows.place(row + share * kRows, image);
        auto const tap = windows.template tap<Tile::kTileK>(k);
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

    template <int kTileK>
    __device__ int depth(int k) const {
        return k;
    }

    template <class Tile, int kBatches>
    __device__ void load(FullBarrier& full, unsigned char* stage, int row, int k,
                         int const (&batch)[kBatches], int share, uint16_t mask) const {
        static_assert(Tile::kMajor == Major::k && Tile::kRowBytes == 128);
        static_assert(Rows::kRun % Tile::kTileK == 0);
        constexpr int kOuter = Rows::kOuter;
        auto const tap = Rows::tap(k);
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

}  // namespace fact::sm90
