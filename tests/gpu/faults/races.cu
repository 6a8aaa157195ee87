// Adds the parts of each sum in whatever order warps come to it: right, but never twice the same.
// fact-fault: races
// fact-verdict: not deterministic
#include "product.cuh"

__device__ void race_tile(Problem const& p, int first_row, int first_column) {
    constexpr int kRows = 16, kColumns = 32, kWarps = kThreads / 32;
    __shared__ float sums[kRows][kColumns];
    int const warp = threadIdx.x / 32, lane = threadIdx.x % 32, column = first_column + lane;
    for (int i = threadIdx.x; i < kRows * kColumns; i += kThreads) sums[i / 32][i % 32] = 0;
    __syncthreads();
    for (int r = 0; r < kRows; ++r) {
        int const row = first_row + r;
        float part = 0;
        if (p.contains(row, column))
            for (int k = warp; k < p.k; k += kWarps)
                part += widen(p.a_at(row, k)) * widen(p.b_at(k, column));
        __nanosleep(clock() % 256);
        atomicAdd(&sums[r][lane], part);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < kRows * kColumns; i += kThreads) {
        int const row = first_row + i / kColumns, at = first_column + i % kColumns;
        if (p.contains(row, at)) p.y_at(row, at) = narrow<Output>(sums[i / 32][i % 32]);
    }
    __syncthreads();
}

FACT_KERNEL(__grid_constant__ Arguments const arguments) {
    Problem const p(arguments);
    int const columns = (p.n + 31) / 32, tiles = (p.m + 15) / 16 * columns;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x)
        race_tile(p, tile / columns * 16, tile % columns * 32);
}
