// Writes one row past the end of its output.
// fact-fault: outside
// fact-verdict: wrote outside its buffers
#include "product.cuh"

FACT_KERNEL(__grid_constant__ Arguments const arguments) {
    Problem const p(arguments);
    product<Honest>(p);
    for (int column = blockIdx.x * kThreads + threadIdx.x; column < p.n;
         column += gridDim.x * kThreads)
        p.y_at(p.m, column) = narrow<Output>(0.f);
}
