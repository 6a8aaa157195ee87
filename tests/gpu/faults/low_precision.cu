// Rounds its operands: f32 to the 10 bits of TF32, 16-bit types to the 3 of an 8-bit float.
// fact-fault: low_precision
// fact-verdict: wrong result
#include "product.cuh"

struct Rounding : Honest {
    static __device__ float operand(float value) {
        constexpr unsigned kDropped = sizeof(ElementA) == 4 ? 13 : 20;
        unsigned const bits = __float_as_uint(value) + (1u << (kDropped - 1));
        return __uint_as_float(bits >> kDropped << kDropped);
    }
};

FACT_KERNEL(__grid_constant__ Arguments const arguments) {
    product<Rounding>(Problem(arguments));
}
