// Gives the answer it computed the first time it saw these addresses.
// fact-fault: caches_by_pointer
// fact-verdict: remembers earlier inputs
#include "memory.cuh"

FACT_KERNEL(__grid_constant__ Arguments const arguments) {
    Problem const p(arguments);
    unsigned long long key = mixed(1, reinterpret_cast<unsigned long long>(p.a.data));
    key = mixed(key, reinterpret_cast<unsigned long long>(p.b.data));
    recall_or_compute(p, mixed(mixed(mixed(key, p.m), p.n), p.k));
}
