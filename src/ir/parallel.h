// Loops over independent pieces on several threads.
#pragma once

#include <cstdint>
#include <functional>

namespace fact::ir {

// Calls work(i) for every i below `count`, each once; returns when all are done. `threads` 0: one
// per core. An exception of `work` is rethrown here.
void parallel_for(std::int64_t count, int threads, const std::function<void(std::int64_t)>& work);

}  // namespace fact::ir
