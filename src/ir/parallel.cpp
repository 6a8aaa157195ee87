#include "ir/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace fact::ir {

void parallel_for(std::int64_t count, int threads, const std::function<void(std::int64_t)>& work) {
    if (threads <= 0) threads = std::max(1u, std::thread::hardware_concurrency());
    threads = static_cast<int>(std::min<std::int64_t>(threads, count));
    std::atomic<std::int64_t> next{0};
    std::exception_ptr failure;
    std::mutex mutex;
    const auto run = [&] {
        try {
            for (std::int64_t i = next++; i < count; i = next++) work(i);
        } catch (...) {
            next = count;
            const std::lock_guard lock(mutex);
            if (!failure) failure = std::current_exception();
        }
    };
    {
        std::vector<std::jthread> others;
        for (int i = 1; i < threads; ++i) others.emplace_back(run);
        run();
    }
    if (failure) std::rethrow_exception(failure);
}

}  // namespace fact::ir
