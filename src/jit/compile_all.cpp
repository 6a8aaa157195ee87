// Several units at a time, by threads that each wait for one compiler process: compile_all() of
// jit/compiler.h.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "jit/compiler.h"

namespace fact::jit {

std::vector<Result<Artifact>> compile_all(
    const std::vector<Unit>& units, const Toolchain& toolchain, const std::filesystem::path& store,
    int jobs, Seconds deadline,
    const std::function<void(std::size_t, const Result<Artifact>&)>& done) {
    std::vector<std::optional<Result<Artifact>>> slots(units.size());
    std::mutex mutex;
    std::condition_variable finished_one;
    std::deque<std::size_t> finished;
    std::size_t next = 0;

    const auto work = [&] {
        for (;;) {
            std::size_t i;
            {
                std::lock_guard lock(mutex);
                if (next == units.size()) return;
                i = next++;
            }
            Result<Artifact> result = Error{"interrupted", ""};
            try {
                if (!interrupted()) result = compile(units[i], toolchain, store, deadline);
            } catch (const std::exception& error) {
                result = Error{error.what(), ""};
            }
            std::lock_guard lock(mutex);
            slots[i] = std::move(result);
            finished.push_back(i);
            finished_one.notify_one();
        }
    };
    std::vector<std::jthread> threads;
    const auto num_threads = std::min<std::size_t>(std::max(jobs, 1), units.size());
    for (std::size_t i = 0; i < num_threads; ++i) threads.emplace_back(work);

    for (std::size_t reported = 0; reported < units.size(); ++reported) {
        std::unique_lock lock(mutex);
        finished_one.wait(lock, [&] { return !finished.empty(); });
        const std::size_t i = finished.front();
        finished.pop_front();
        lock.unlock();
        if (done) done(i, *slots[i]);
    }

    std::vector<Result<Artifact>> results;
    results.reserve(units.size());
    for (auto& slot : slots) results.push_back(std::move(*slot));
    return results;
}

}  // namespace fact::jit
