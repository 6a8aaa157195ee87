// Leaves out the last step along K.
// fact-fault: skips_k_tile
// fact-verdict: wrong result
#include "product.cuh"

struct Skipping : Honest {
    static __device__ int depth(Problem const& p) { return p.k - kDepth; }
};

FACT_KERNEL(__grid_constant__ Arguments const arguments) {
    product<Skipping>(Problem(arguments));
}
