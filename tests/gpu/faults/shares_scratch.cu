// Passes its results through memory that all launches share: right as long as none overlaps
// another. fact-fault: shares_scratch fact-verdict: not deterministic
#include "product.cuh"

constexpr int kBlocks = 32;  // few enough for two launches to run side by side
__device__ float passed[kBlocks][kTile][kTile];

struct Passing : Honest {
    static __device__ double value(Problem const&, double sum, int row, int column) {
        float volatile& at = passed[blockIdx.x][row % kTile][column % kTile];
        at = static_cast<float>(sum);
        __nanosleep(50'000);  // longer than two launches are apart
        return at;
    }
};

FACT_KERNEL(__grid_constant__ Arguments const arguments) {
    product<Passing>(Problem(arguments), kBlocks);
}
