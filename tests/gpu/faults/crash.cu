// A candidate that writes where it must not: the GPU's context is lost with it.
// fact-fault: crash
// fact-verdict: crashed
#define DEFINE(entry)                                                              \
    extern "C" __global__ void entry() {                                           \
        *reinterpret_cast<volatile int*>(static_cast<unsigned long long>(16)) = 1; \
    }
FACT_ENTRIES(DEFINE)
