// Writes the upper half of every tile.
// fact-fault: half_tile
// fact-verdict: left its output unwritten
#include "product.cuh"

struct Half : Honest {
    static __device__ bool writes(Problem const&, int row, int) { return row % kTile < kTile / 2; }
};

FACT_KERNEL(__grid_constant__ Arguments const arguments) {
    product<Half>(Problem(arguments));
}
