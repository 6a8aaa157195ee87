// A sigmoid by the hardware's tanh: right to a share of one, nothing of what is left below -8.
// fact-fault: lost_tail
// fact-verdict: wrong result
#include "gate.cuh"

FACT_KERNEL(__grid_constant__ Arguments const arguments) {
    gate(arguments, [](float x) {
        float y;
        asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(0.5f * x));
        return fmaf(0.5f, y, 0.5f);
    });
}
