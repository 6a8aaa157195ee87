// Pointwise kernels that read one tensor along other dimensions than they write: a tile of the
// matrix goes through shared memory, so that both happen along memory.
#pragma once

#include "rows.cuh"

namespace fact {

inline constexpr int kTurnedThreads = 256;
inline constexpr int kTurnedBlocks = 3;   // at a time on a multiprocessor: four lack registers
inline constexpr int kTurnedTile = 4096;  // elements

// Reads matrices of `rows` and `columns` along the columns and writes them along the rows: calls
// value(batch, row, column) for every element, and then store(batch, row, column, value). A tile
// has kRows rows; block x, y and z are its place along columns, along rows and in the batch.
template <int kRows, class Value, class Store>
__device__ void turned(int batches, int rows, int columns, Value value, Store store) {
    constexpr int kColumns = kTurnedTile / kRows, kEach = kTurnedTile / kTurnedThreads;
    __shared__ float tile[kRows][kColumns + 1];
    int const first_row = static_cast<int>(blockIdx.y) * kRows;
    int first_column = static_cast<int>(blockIdx.x) * kColumns;
    int const last_row = min(kRows, rows - first_row);
    int const count = last_row * min(kColumns, columns - first_column);
    wait_for_previous();
    for (int batch = blockIdx.z; batch < batches; batch += gridDim.z) {
        // Hides that addresses do not depend on the loop: they would all be held in registers.
        asm volatile("" : "+r"(first_column));
        // All are read before the first is written: the compiler does not move a load over a store.
        float held[kEach];
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
            int const at = i * kTurnedThreads + static_cast<int>(threadIdx.x);
            // Without a branch, so that all loads are on their way together: what is beyond the
            // matrix is its last row or column again, and is not stored.
            int const row = min(at / kColumns, last_row - 1);
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
        if (last_row == kRows) {  // a division by a constant is cheap
#pragma unroll
            for (int i = 0; i < kEach; ++i) {
                int const at = i * kTurnedThreads + static_cast<int>(threadIdx.x);
                held[i] = tile[at % kRows][at / kRows];
            }
#pragma unroll
            for (int i = 0; i < kEach; ++i) {
                int const at = i * kTurnedThreads + static_cast<int>(threadIdx.x);
                int const column = at / kRows, row = at % kRows;
                if (first_column + column < columns)
                    store(batch, first_row + row, first_column + column, held[i]);
            }
        } else {
            for (int at = threadIdx.x; at < count; at += kTurnedThreads) {
                int const column = at / last_row, row = at - column * last_row;
                store(batch, first_row + row, first_column + column, tile[row][column]);
            }
        }
        __syncthreads();
    }
}

}  // namespace fact
