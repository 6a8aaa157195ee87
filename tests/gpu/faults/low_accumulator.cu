// Accumulates in the type of its output, or in TF32 where that is f32.
// fact-fault: low_accumulator
// fact-verdict: wrong result
#include "product.cuh"

struct Accumulating : Honest {
    static __device__ double add(double total, float part) {
        float const sum = static_cast<float>(total) + part;
        if (sizeof(Output) == 2) return widen(narrow<Output>(sum));
        return __uint_as_float((__float_as_uint(sum) + 0x1000) & 0xFFFFE000);
    }
};

FACT_KERNEL(__grid_constant__ Arguments const arguments) {
    product<Accumulating>(Problem(arguments));
}
