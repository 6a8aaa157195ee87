// Works when it is first looked at, and no more once it is only timed.
// fact-fault: tires
// fact-verdict: faster than light | did no work while timed
#include "product.cuh"

__device__ int launches = 0;
__device__ unsigned arrived = 0;

FACT_KERNEL(__grid_constant__ Arguments const arguments) {
    constexpr int kLaunches = 40;  // more than a proof makes before the timing
    if (launches < kLaunches) product<Honest>(Problem(arguments));
    if (last_of_grid(arrived)) ++launches;
}
