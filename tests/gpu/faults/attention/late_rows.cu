// The last rows, which average the most, are rounded to steps that are small beside the first rows.
// fact-fault: late_rows
// fact-verdict: wrong result
#include "attention.cuh"

FACT_KERNEL(__grid_constant__ Arguments const arguments) {
    attention(arguments, [](float y, int row, int rows) {
        float const steps = 8.f * sqrtf(static_cast<float>(rows));
        return row < rows - rows / 64 ? y : rintf(y * steps) / steps;
    });
}
