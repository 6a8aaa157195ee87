// A candidate that never ends: the worker must be killed at its deadline.
// fact-fault: hang
// fact-verdict: timed out
#define DEFINE(entry)                     \
    extern "C" __global__ void entry() {  \
        volatile bool forever = true;     \
        while (forever) __nanosleep(100); \
    }
FACT_ENTRIES(DEFINE)
