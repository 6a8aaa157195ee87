// Pointwise kernels that read one tensor along other dimensions than they write: a tile of the
// matrix goes through shared memory, so that both happen along memory.
#pragma once

#include "rows.cuh"

namespace fact {

inline constexpr int kTurnedThreads = 256;
inline constexpr int kTurnedBlocks = 3;   // at a time on a multiprocessor: four lack registers
inline constexpr int kTurnedTile = 4096;  // elements

// Reads matrices of `rows` and `columns` along the columns and writes them along the rows: calls
// value(batch, row, column) for every element, finish(batch, row, column, value) for what is read
// along the rows, and then store(batch, row, column, finished). A tile has kRows rows; block x, y
// and z are its place along columns, along rows and in the batch.
//
// Nothing is loaded behind a branch or after a store, so that all loads of a thread are on their
// way together. What is beyond a matrix is its last row or column again, and is not stored.
template <int kRows, class Value, class Finish, class Store>
__device__ void turned(int batches, int rows, int columns, Value value, Finish finish,
                       Store store) {
    constexpr int kColumns = kTurnedTile / kRows, kEach = kTurnedTile / kTurnedThreads;
    __shared__ float tile[kRows][kColumns + 1];
    int first_row = static_cast<int>(blockIdx.y) * kRows;
    int first_column = static_cast<int>(blockIdx.x) * kColumns;
    wait_for_previous();
    for (int batch = blockIdx.z; batch < batches; batch += gridDim.z) {
        // Hides that addresses do not depend on the loop: they would all be held in registers.
        asm volatile("" : "+r"(first_row), "+r"(first_column));
        int const last_row = min(kRows, rows - first_row) - 1;
        float held[kEach];
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
            int const at = i * kTurnedThreads + static_cast<int>(threadIdx.x);
            int const row = min(at / kColumns, last_row);
            int const column = min(first_column + at % kColumns, columns - 1);
            held[i] = value(batch, first_row + row, column);
        }
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
            int const at = i * kTurnedThreads + static_cast<int>(threadIdx.x);
            tile[at / kColumns][at % kColumns] = held[i];
        }
        __syncthreads();
        asm volatile("" : "+r"(first_column));
        int const row = static_cast<int>(threadIdx.x) % kRows;
        int const first = first_column + static_cast<int>(threadIdx.x) / kRows;
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
            int const column = first + i * (kTurnedThreads / kRows);
            held[i] = finish(batch, first_row + min(row, last_row), min(column, columns - 1),
                             tile[row][column - first_column]);
        }
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
            int const column = first + i * (kTurnedThreads / kRows);
            if (row <= last_row && column < columns) store(batch, first_row + row, column, held[i]);
        }
        __syncthreads();
    }
}

template <int kRows, class Value, class Store>
__device__ void turned(int batches, int rows, int columns, Value value, Store store) {
    auto const finish = [](int, int, int, float value) { return value; };
    turned<kRows>(batches, rows, columns, value, finish, store);
}

}  // namespace fact
