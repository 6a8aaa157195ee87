// Pointwise kernels that read one tensor along other dimensions than they write: a tile of the
// matrix goes through shared memory, so that both happen along memory.
#pragma once

#include "neighbours.cuh"
#include "rows.cuh"

namespace fact {

inline constexpr int kTurnedThreads = 256;
inline constexpr int kTurnedBlocks = 5;     // at a time on a multiprocessor: six lack registers
inline constexpr int kFinishingBlocks = 3;  // the same if other tensors are read after turning
inline constexpr int kTurnedTile = 4096;    // elements

// A tile of kRows_ rows; a thread reads kRead_ neighbours along the columns at a time, which divide
// the matrix's columns, and writes kWrite_ along the rows, which divide its rows.
template <int kRows_, int kRead_, int kWrite_>
struct TurnedTile {
    static constexpr int kRows = kRows_, kColumns = kTurnedTile / kRows_;
    static constexpr int kRead = kRead_, kWrite = kWrite_;
    static constexpr int kEach = kTurnedTile / kTurnedThreads;  // elements of a thread
};

// Reads matrices of `rows` and `columns`, source(batch, row, column), along the columns, and writes
// them, place(batch, row, column), along the rows. value(batch, row, column, x) is what
// becomes of an element before it is turned; finish(batch, row, column) gives a function that, with
// i and the value at row + i, gives the result. Block x, y and z are a tile's place along columns,
// along rows and in the batch.
//
// Nothing is loaded behind a branch or after a store, so that all loads of a thread are on their
// way together. What is beyond a matrix is its last row or column again, and is not stored.
template <class Tile, class Source, class Value, class Finish, class Place>
__device__ void turned(int batches, int rows, int columns, Source source, Value value,
                       Finish finish, Place place) {
    constexpr int kRows = Tile::kRows, kColumns = Tile::kColumns;
    constexpr int kRead = Tile::kRead, kWrite = Tile::kWrite;
    constexpr int kLoads = Tile::kEach / kRead, kStores = Tile::kEach / kWrite;
    using T = std::remove_cv_t<std::remove_reference_t<decltype(source(0, 0, 0))>>;
    __shared__ float tile[kRows][kColumns + 1];
    int const thread = static_cast<int>(threadIdx.x);
    int first_row = static_cast<int>(blockIdx.y) * kRows;
    int first_column = static_cast<int>(blockIdx.x) * kColumns;
    int const tile_rows = min(kRows, rows - first_row);
    wait_for_previous();
    for (int batch = blockIdx.z; batch < batches; batch += gridDim.z) {
        // Hides that addresses do not depend on the loop: they would all be held in registers.
        asm volatile("" : "+r"(first_row), "+r"(first_column));
        auto const row_of = [&](int i) { return (i * kTurnedThreads + thread) * kRead / kColumns; };
        auto const column_of = [&](int i) {
            return (i * kTurnedThreads + thread) * kRead % kColumns;
        };
        Neighbours<T, kRead> read[kLoads];
#pragma unroll
        for (int i = 0; i < kLoads; ++i)
            read[i] = neighbours<kRead>(source(batch, first_row + min(row_of(i), tile_rows - 1),
                                               min(first_column + column_of(i), columns - kRead)));
        // All before the first is stored: what they have in common is then loaded once.
        float values[kLoads][kRead];
#pragma unroll
        for (int i = 0; i < kLoads; ++i)
#pragma unroll
            for (int k = 0; k < kRead; ++k)
                values[i][k] =
                    value(batch, first_row + min(row_of(i), tile_rows - 1),
                          min(first_column + column_of(i), columns - kRead) + k, read[i][k]);
#pragma unroll
        for (int i = 0; i < kLoads; ++i)
#pragma unroll
            for (int k = 0; k < kRead; ++k) tile[row_of(i)][column_of(i) + k] = values[i][k];
        __syncthreads();
        asm volatile("" : "+r"(first_column));
        int const row = thread * kWrite % kRows;
        auto const turned_column = [&](int i) {
            return (i * kTurnedThreads + thread) * kWrite / kRows;
        };
        float results[kStores][kWrite];
#pragma unroll
        for (int i = 0; i < kStores; ++i) {
            auto const result = finish(batch, first_row + min(row, tile_rows - kWrite),
                                       min(first_column + turned_column(i), columns - 1));
#pragma unroll
            for (int k = 0; k < kWrite; ++k)
                results[i][k] = result(k, tile[row + k][turned_column(i)]);
        }
#pragma unroll
        for (int i = 0; i < kStores; ++i) {
            int const column = first_column + turned_column(i);
            if (row < tile_rows && column < columns)
                store_neighbours<kWrite>(place(batch, first_row + row, column),
                                         [&](int k) { return results[i][k]; });
        }
        __syncthreads();
    }
}

// What nothing is left to do for after turning.
__device__ inline auto as_turned(int, int, int) {
    return [](int, float value) { return value; };
}
// What is turned as it was read.
struct AsRead {
    template <class T>
    __device__ float operator()(int, int, int, T x) const {
        return x;
    }
};

}  // namespace fact
