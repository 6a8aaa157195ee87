// No fault.
// fact-fault: none
// fact-verdict: passed
#include "gate.cuh"

FACT_KERNEL(__grid_constant__ Arguments const arguments) {
    gate(arguments, [](float x) { return 1.f / (1.f + expf(-x)); });
}
