// Sums over the rows of A, and over their squares, for epilogues that normalise: taken from the
// stages that the products read, by the producer group's warps that have nothing else to do.
#pragma once

#include <type_traits>

#include "../common/operands.cuh"
#include "pipeline.cuh"

namespace fact::sm90 {

struct RowSums {
    float values, squares;  // values only where Functor::kSumsValues says so
};

// Whether the functor works something out once a row, from such sums.
template <class Functor, class = void>
inline constexpr bool kTakesRowSums = false;
template <class Functor>
inline constexpr bool kTakesRowSums<Functor, std::void_t<typename Functor::OfRow>> = true;

inline constexpr int kSummingWarps = 3;  // of the producer group, all but the first

// From the summing warps to the consumers: of one tile while the tile before is finished.
template <int kRows>
struct RowSumBuffers {
    RowSums rows[2][kRows];
    EmptyBarrier full[2], empty[2];

    __device__ void init(int readers) {
        for (int i = 0; i < 2; ++i) full[i].init(kSummingWarps), empty[i].init(readers);
    }
};
template <>
struct RowSumBuffers<0> {
    __device__ void init(int) {}
};

// A lane's place in eight rows of a tile: a quarter of one row, so that eight lanes at a time read
// every bank once.
struct QuarterRow {
    int row, quarter;
    __device__ explicit QuarterRow(int lane) : row(lane % 8), quarter(lane / 8) {}

    template <class Element, bool kValues>
    __device__ void add(RowSums& sums, unsigned char const* eight_rows) const {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            int const chunk = (quarter * 2 + i) ^ row;  // as TMA swizzles
            uint4 const loaded =
                *reinterpret_cast<uint4 const*>(eight_rows + row * 128 + chunk * 16);
            for (uint32_t const word : {loaded.x, loaded.y, loaded.z, loaded.w}) {
                Pair<Element> const pair{word};
#pragma unroll
                for (int side = 0; side < 2; ++side) {
                    float const x = pair.at(side);
                    if constexpr (kValues) sums.values += x;
                    sums.squares = fmaf(x, x, sums.squares);
                }
            }
        }
    }
};

__device__ inline float over_quarters(float x) {
    x += __shfl_xor_sync(0xffffffff, x, 8);
    return x + __shfl_xor_sync(0xffffffff, x, 16);
}

// What summing warp `warp` does all along: eight rows in turn with the others, of every tile.
template <class Config, class Mainloop, bool kValues, class Ring, class Work>
__device__ void sum_rows(Ring& ring, RowSumBuffers<Config::kTileM>& buffers,
                         unsigned char const* stages, Work const& work, int warp, int lane) {
    static_assert(Config::kMajorA == Major::k && sizeof(typename Config::Element) == 2);
    constexpr int kEights = Config::kTileM / 8;
    constexpr int kMost = (kEights + kSummingWarps - 1) / kSummingWarps;
    QuarterRow const place(lane);
    typename Ring::Signature const signature(lane, true);
    RingPosition<Config::kStages> position;
    for (int i = 0;; ++i) {
        int const k_count = work.at(i).k_count;
        if (k_count == 0) break;
        RowSums sums[kMost] = {};
        for (int k = 0; k < k_count; ++k, position.advance()) {
            ring.full[position.stage].wait(position.phase);
            unsigned char const* a = stages + position.stage * Mainloop::kStageBytes;
#pragma unroll
            for (int j = 0; j < kMost; ++j)
                if (int const eight = warp + j * kSummingWarps; eight < kEights)
                    place.add<typename Config::Element, kValues>(sums[j], a + eight * 8 * 128);
            __syncwarp();
            ring.release(position.stage, signature);
        }
        int const buffer = i % 2;
        buffers.empty[buffer].wait(i / 2 % 2 ^ 1);
#pragma unroll
        for (int j = 0; j < kMost; ++j) {
            RowSums const whole{over_quarters(sums[j].values), over_quarters(sums[j].squares)};
            int const eight = warp + j * kSummingWarps;
            if (lane < 8 && eight < kEights) buffers.rows[buffer][eight * 8 + lane] = whole;
        }
        __syncwarp();
        if (lane == 0) buffers.full[buffer].arrive();
    }
}

}  // namespace fact::sm90
