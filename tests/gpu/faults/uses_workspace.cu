// Takes for granted that its scratch memory starts as zeros, or as no numbers at all.
// fact-fault: uses_workspace
// fact-verdict: depends on its workspace
#include "product.cuh"

struct Trusting : Honest {
    static __device__ double value(Problem const& p, double sum, int row, int column) {
        float const before = p.scratch_at(row, column);
        return isfinite(before) && before != 0 ? sum + 1 : sum;
    }
};

FACT_KERNEL(__grid_constant__ Arguments const arguments) {
    product<Trusting>(Problem(arguments));
}
