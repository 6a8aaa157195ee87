// Rounds its operands to multiples of one small number: next to nothing beside most rows, much of a
// row that is a thousand times smaller.
// fact-fault: fixed_point
// fact-verdict: wrong result
#include "product.cuh"

struct Rounding : Honest {
    static __device__ float operand(float value) {
        constexpr float kSteps = sizeof(ElementA) == 4 ? 0x1p22f : 0x1p12f;
        return rintf(value * kSteps) / kSteps;
    }
};

FACT_KERNEL(__grid_constant__ Arguments const arguments) {
    product<Rounding>(Problem(arguments));
}
