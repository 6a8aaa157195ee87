// Returns zeros.
// fact-fault: zeros
// fact-verdict: wrong result
#include "product.cuh"

struct Zeros : Honest {
    static __device__ int depth(Problem const&) { return 0; }
};

FACT_KERNEL(__grid_constant__ Arguments const arguments) {
    product<Zeros>(Problem(arguments));
}
