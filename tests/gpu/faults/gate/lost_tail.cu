// A sigmoid by the hardware's tanh: right to a share of one, nothing of what is left below -8.
// fact-fault: lost_tail
// fact-verdict: wrong result
#include "../product.cuh"

struct Gate : Honest {
    static __device__ double value(Problem const&, double sum, int, int) {
        float y;
        asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(0.5f * static_cast<float>(sum)));
        return fmaf(0.5f, y, 0.5f);
    }
};

FACT_KERNEL(__grid_constant__ Arguments const arguments) {
    product<Gate>(Problem(arguments));
}
