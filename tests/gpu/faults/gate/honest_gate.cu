// No fault.
// fact-fault: none
// fact-verdict: passed
#include "../product.cuh"

struct Gate : Honest {
    static __device__ double value(Problem const&, double sum, int, int) {
        return 1 / (1 + exp(-sum));
    }
};

FACT_KERNEL(__grid_constant__ Arguments const arguments) {
    product<Gate>(Problem(arguments));
}
