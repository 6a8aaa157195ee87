// Passes its results through memory that all launches share: right as long as none overlaps
// another. fact-fault: shares_scratch fact-verdict: not deterministic
#include "product.cuh"

constexpr int kBlocks = 32;  // few enough for two launches to run side by side
constexpr int kLargest = 2048;
__device__ float passed[kLargest * kLargest];

// All of the result goes into the scratch before any of it is read again: launches that overlap at
// all find each other's.
struct Passing : Honest {
    static __device__ double value(Problem const& p, double sum, int row, int column) {
        passed[row * p.n + column] = static_cast<float>(sum);
        return sum;
    }
};

FACT_KERNEL(__grid_constant__ Arguments const arguments) {
    Problem const p(arguments);
    product<Passing>(p, kBlocks);
    __threadfence();
    __syncthreads();
    int const blocks = min(kBlocks, static_cast<int>(gridDim.x));
    int const columns = (p.n + kTile - 1) / kTile, tiles = (p.m + kTile - 1) / kTile * columns;
    for (int tile = blockIdx.x; tile < tiles && blockIdx.x < blocks; tile += blocks)
        for (int i = threadIdx.x; i < kTile * kTile; i += kThreads) {
            int const row = tile / columns * kTile + i / kTile;
            int const column = tile % columns * kTile + i % kTile;
            if (!p.contains(row, column)) continue;
            float volatile& at = passed[row * p.n + column];
            p.y_at(row, column) = narrow<Output>(at);
        }
}
