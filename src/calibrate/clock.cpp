#include "calibrate/clock.h"

#include <algorithm>
#include <vector>

#include "gpu/timer.h"
#include "support/subprocess.h"
#include "support/times.h"

namespace fact::calibrate {

namespace {

// Longer than the host takes to queue one run.
constexpr double kHoldUs = 300;
// Launches the driver takes into its queue before the host has to wait.
constexpr int kMaxQueued = 500;

}  // namespace

Result<double> Clock::time(const Work& work, int count, double hold_us) const {
    auto begin = gpu::Event::create(), end = gpu::Event::create();
    if (!begin) return begin.error();
    if (!end) return end.error();
    if (auto done = hold_(hold_us); !done) return done.error();
    if (auto done = begin->record(nullptr); !done) return done.error();
    for (int i = 0; i < count; ++i)
        if (auto done = work(); !done) return done.error();
    if (auto done = end->record(nullptr); !done) return done.error();
    return end->microseconds_since(*begin);
}

Result<Times> Clock::single(const Work& work, int runs) const {
    std::vector<double> times;
    for (int run = -2; run < runs; ++run) {  // two to warm up
        if (interrupted()) return Error{"interrupted", ""};
        const auto us = time(work, 1, kHoldUs);
        if (!us) return us.error();
        if (run >= 0) times.push_back(*us);
    }
    return summarize(std::move(times));
}

Result<Times> Clock::sustained(const Work& work, int rounds, double round_us) const {
    const auto once = time(work, 1, kHoldUs);
    if (!once) return once.error();
    const int count = std::clamp(static_cast<int>(round_us / std::max(*once, 1.0)), 2, kMaxQueued);
    std::vector<double> times;
    for (int round = -1; round < rounds; ++round) {  // one to heat up
        if (interrupted()) return Error{"interrupted", ""};
        const auto us = time(work, count, kHoldUs);
        if (!us) return us.error();
        if (round >= 0) times.push_back(*us / count);
    }
    return summarize(std::move(times));
}

}  // namespace fact::calibrate
