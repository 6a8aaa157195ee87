// No fault: the plain product of product.cuh, which the others spoil.
// fact-fault: none
// fact-verdict: passed
#include "product.cuh"

FACT_KERNEL(__grid_constant__ Arguments const arguments) {
    product<Honest>(Problem(arguments));
}
