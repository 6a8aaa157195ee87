// Adds to what it finds in its output, unless that is not a number.
// fact-fault: stale_output
// fact-verdict: depends on what was in its output
#include "product.cuh"

struct Adding : Honest {
    static __device__ double value(Problem const& p, double sum, int row, int column) {
        float const before = widen(p.y_at(row, column));
        return isfinite(before) ? sum + 0.25 * before : sum;
    }
};

FACT_KERNEL(__grid_constant__ Arguments const arguments) {
    product<Adding>(Problem(arguments));
}
