// A candidate that is fast because it does nothing: its outputs stay poisoned.
// fact-fault: wrong
// fact-verdict: left its output unwritten
#define DEFINE(entry) \
    extern "C" __global__ void entry() {}
FACT_ENTRIES(DEFINE)
