// How a tile of an operand lies in a stage: rows of its contiguous dimension, the 16-byte chunks of
// a row exchanged so that what a warp reads at once comes from different banks. Plain C++, so that
// a host can prove it.
#pragma once

#include "../common/problem.cuh"

namespace fact::sm80 {

template <class Element_, Major kMajor_, int kTile_, int kTileK_>
struct StageLayout {
    using Element = Element_;
    static constexpr Major kMajor = kMajor_;
    static constexpr int kTile = kTile_, kTileK = kTileK_;  // kTile: along M or N
    static constexpr int kRows = kMajor == Major::k ? kTile : kTileK;
    static constexpr int kColumns = kMajor == Major::k ? kTileK : kTile;
    static constexpr int kElementBytes = sizeof(Element);
    static constexpr int kRowBytes = kColumns * kElementBytes;
    static constexpr int kBytes = kRows * kRowBytes;
    static constexpr int kDepth = 32 / kElementBytes;  // of one mma
    // ldmatrix transposes 16-bit elements only: f32 along M or N is read word by word.
    static constexpr bool kByWords = kMajor == Major::mn && kElementBytes == 4;
    static_assert(kRowBytes == 64 || kRowBytes % 128 == 0);

    // The byte at which an element lies.
    static constexpr int offset(int row, int column) {
        int const byte = column * kElementBytes;
        return row * kRowBytes + ((byte / 16) ^ exchange(row)) * 16 + byte % 16;
    }

    // A fragment is sixteen of M or N by one mma's depth, read by ldmatrix as four 8x8 matrices
    // (the halves of the depth before those of the sixteen) or word by word. A lane's address
    // depends on the lane in `lane_offset`, and on the warp's `block`-th sixteen and the `step`
    // only by a constant to exchange by and one to add.
    static constexpr int lane_offset(int lane, int outer) {
        int const upper = lane / 16 * 8, deeper = lane / 8 % 2 * (kDepth / 2), line = lane % 8;
        return kByWords             ? offset(lane % 4, outer + lane / 4)
               : kMajor == Major::k ? offset(outer + upper + line, deeper)
                                    : offset(deeper + line, outer + upper);
    }
    static constexpr int matrix_offset(int lane_offset, int block, int step) {
        return kMajor == Major::k ? (lane_offset ^ (step * 32)) + block * 16 * kRowBytes
                                  : (lane_offset ^ (block * 32)) + step * kDepth * kRowBytes;
    }
    // The word of half `h` of the sixteen and half `d` of the depth.
    static constexpr int word_offset(int lane_offset, int block, int step, int h, int d) {
        return (lane_offset ^ (block * 64 + h * 32)) + (step * kDepth + d * 4) * kRowBytes;
    }

  private:
    static constexpr int exchange(int row) {
        if (kByWords) return row % 4 * 2;         // a read takes two chunks of four rows
        if (kRowBytes == 64) return row / 2 % 4;  // a read takes one of eight; two rows span the
        return row % 8;                           // banks here, one row does there
    }
};

}  // namespace fact::sm80
