// Scales an operand in place when it is done with it.
// fact-fault: changes_inputs
// fact-verdict: changed its inputs
#include "product.cuh"

__device__ unsigned arrived = 0;

FACT_KERNEL(__grid_constant__ Arguments const arguments) {
    Problem const p(arguments);
    product<Honest>(p);
    if (last_of_grid(arrived)) p.a_at(0, 0) = narrow<ElementA>(2 * widen(p.a_at(0, 0)) + 1);
}
