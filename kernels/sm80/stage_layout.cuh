// How a tile of an operand is laid out in a stage: rows along its contiguous dimension, with the
// 16-byte chunks of a row swizzled so that what a warp reads at once comes from different banks.
// Plain C++, so that a test on the host can check it.
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

    // The byte offset of an element.
    static constexpr int offset(int row, int column) {
        int const byte = column * kElementBytes;
        return row * kRowBytes + ((byte / 16) ^ swizzle(row)) * 16 + byte % 16;
    }

    // A fragment is 16 rows (along M or N) by the depth of one mma, read by ldmatrix as four 8x8
    // matrices (the halves of the depth run before those of the 16 rows) or word by word. A lane's
    // address is `lane_offset`, combined by xor and by addition with constants that depend on the
    // `block` (which group of 16 rows of the warp) and the `step` alone.
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
    // The word of half `h` of the 16 rows and half `d` of the depth.
    static constexpr int word_offset(int lane_offset, int block, int step, int h, int d) {
        return (lane_offset ^ (block * 64 + h * 32)) + (step * kDepth + d * 4) * kRowBytes;
    }

  private:
    // By how much the chunks of a row are swizzled. A warp reads two chunks of each of four rows by
    // words, else one chunk of each of eight rows.
    static constexpr int swizzle(int row) {
        if (kByWords) return row % 4 * 2;
        if (kRowBytes == 64) return row / 2 % 4;  // two rows span all banks
        return row % 8;                           // one row spans all banks
    }
};

}  // namespace fact::sm80
