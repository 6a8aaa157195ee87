// Right where every tile is whole, wrong in the last ones where they are not.
// fact-fault: odd_sizes
// fact-verdict: wrong at other sizes
#include "product.cuh"

struct Whole : Honest {
    static __device__ double value(Problem const& p, double sum, int row, int column) {
        bool const whole = row < p.m / kTile * kTile && column < p.n / kTile * kTile;
        return whole ? sum : 0.5 * sum;
    }
};

FACT_KERNEL(__grid_constant__ Arguments const arguments) {
    product<Whole>(Problem(arguments));
}
