#include "torch/timing.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "gpu/kernel.h"
#include "support/times.h"
#include "torch/stream.h"

namespace fact::exec {

namespace {

using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point start) {
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

// Keeps the GPU busy for about the given time without heating it or touching its caches.
class Occupier {
  public:
    explicit Occupier(c10::Device device) {
        // at::cuda::sleep(int64_t), torch's spinning kernel; its header needs CUDA's.
        sleep_ = reinterpret_cast<Sleep>(dlsym(RTLD_DEFAULT, "_ZN2at4cuda5sleepEl"));
        if (!sleep_) filler_ = at::empty({kFillBytes}, at::TensorOptions(at::kByte).device(device));
    }
    void operator()(double us) const {
        constexpr double kCyclesPerMicrosecond = 2000;  // at about the highest clock
        if (sleep_) {
            sleep_(static_cast<std::int64_t>(us * kCyclesPerMicrosecond));
            return;
        }
        constexpr double kMicrosecondsPerFill = 50;  // at least: 256 MB at 5 TB/s
        for (int i = 0; i < std::ceil(us / kMicrosecondsPerFill); ++i) filler_.zero_();
    }

  private:
    static constexpr std::int64_t kFillBytes = 256 << 20;
    using Sleep = void (*)(std::int64_t);
    Sleep sleep_ = nullptr;
    at::Tensor filler_;
};

// The GPU's time between two events.
class Span {
  public:
    Span()
        : begin_(c10::kCUDA, c10::EventFlag::BACKEND_DEFAULT),
          end_(c10::kCUDA, c10::EventFlag::BACKEND_DEFAULT) {}
    void measure(const c10::Stream& stream, const Work& work, int count = 1) {
        begin_.record(stream);
        for (int i = 0; i < count; ++i) work();
        end_.record(stream);
    }
    double microseconds() const {
        end_.synchronize();
        return begin_.elapsedTime(end_) * 1000;
    }

  private:
    c10::Event begin_, end_;
};

// Of a measurement of single runs. Few are enough if they are alike.
constexpr int kLeastRuns = 7, kTrustedRuns = 25, kMostRuns = 101;
constexpr double kSure = 0.005;  // of a median: the standard error
constexpr double kPatience = 4;  // times the given milliseconds, for more runs than the least

bool is_sure(const std::vector<double>& times) {
    const auto summary = summarize(times);
    return uncertainty(summary) <= 2 * kSure * summary.median_us;  // two standard errors
}

struct Estimate {
    double gpu_us = 0, host_us = 0;
};

// Also warms up: the first runs load code, prepare weights, fill torch's memory pool. A run that
// takes long needs no others before it.
Estimate estimate(const Work& work, c10::Device device, const Occupier& occupy) {
    constexpr double kLongUs = 5000;
    auto start = Clock::now();
    work();
    synchronize(device);
    if (microseconds_since(start) < kLongUs) {
        for (int i = 0; i < 2; ++i) work();
        synchronize(device);
    }
    start = Clock::now();
    work();
    const double host = microseconds_since(start);
    synchronize(device);
    Span span;
    occupy(2 * host);
    span.measure(current_stream(device), work);
    return {span.microseconds(), host};
}

}  // namespace

std::vector<Times> time_single(const std::vector<Work>& works, c10::Device device,
                               double milliseconds, const Work& between) {
    const Occupier occupy(device);
    const auto stream = current_stream(device);
    double turn_us = 0, host_us = 0;
    for (const auto& work : works) {
        const auto expected = estimate(work, device, occupy);
        host_us = std::max(host_us, expected.host_us);
        turn_us += expected.gpu_us;
    }
    const double busy_us = std::clamp(2 * host_us + 50, 100.0, 5000.0);
    turn_us += busy_us * static_cast<double>(works.size());
    const double fitting = 1000 * milliseconds / turn_us;
    const int runs = static_cast<int>(std::clamp<double>(fitting, kLeastRuns, kMostRuns));
    const int trusted =
        static_cast<int>(std::clamp<double>(kPatience * fitting, kLeastRuns, kTrustedRuns));
    std::vector<std::vector<double>> times(works.size());
    const auto enough = [&](int run) {
        return run >= runs && (run >= trusted || std::ranges::all_of(times, is_sure));
    };
    for (int run = 0; !enough(run); ++run) {
        if (between) between();
        std::vector<Span> spans(works.size());
        for (std::size_t i = 0; i < works.size(); ++i) {
            occupy(busy_us);
            spans[i].measure(stream, works[i]);
        }
        for (std::size_t i = 0; i < works.size(); ++i) times[i].push_back(spans[i].microseconds());
    }
    std::vector<Times> timings;
    for (auto& list : times) timings.push_back(summarize(std::move(list)));
    return timings;
}

std::vector<Times> time_sustained(const std::vector<Work>& works, c10::Device device,
                                  double milliseconds, const Work& between) {
    const Occupier occupy(device);
    const auto stream = current_stream(device);
    constexpr double kRoundUs = 120'000;  // per work, if there is time: the clock then settles
    const double each_us = 1000 * milliseconds / static_cast<double>(works.size());
    const int rounds = std::clamp(static_cast<int>(each_us / kRoundUs), 3, 7);
    const double round_us = each_us / rounds;
    std::vector<int> counts;
    for (const auto& work : works)
        counts.push_back(
            std::max(2, static_cast<int>(round_us / estimate(work, device, occupy).gpu_us)));
    std::vector<std::vector<double>> times(works.size());
    for (int round = 0; round < rounds; ++round) {
        if (between) between();
        for (std::size_t i = 0; i < works.size(); ++i) {
            Span span;
            occupy(500);  // while the host queues the first launches
            span.measure(stream, works[i], counts[i]);
            times[i].push_back(span.microseconds() / counts[i]);
        }
    }
    std::vector<Times> timings;
    for (auto& list : times) timings.push_back(summarize(std::move(list)));
    return timings;
}

std::vector<verify::LaunchTime> time_launches(const Work& work, c10::Device device) {
    constexpr int kRuns = 9;
    const Occupier occupy(device);
    const auto stream = current_stream(device);
    const double busy_us = std::clamp(4 * estimate(work, device, occupy).host_us, 200.0, 5000.0);
    std::vector<std::string> entries;
    std::vector<std::vector<double>> times;
    for (int run = 0; run < kRuns; ++run) {
        std::vector<c10::Event> ends;
        const auto mark = [&] {
            ends.emplace_back(c10::kCUDA, c10::EventFlag::BACKEND_DEFAULT).record(stream);
        };
        entries.clear();
        occupy(busy_us);
        mark();
        {
            const gpu::LaunchObserver observer([&](const Launch& launch) {
                entries.push_back(launch.entry);
                mark();
            });
            work();
        }
        ends.back().synchronize();
        times.resize(entries.size());
        for (std::size_t i = 0; i < entries.size(); ++i)
            times[i].push_back(ends[i].elapsedTime(ends[i + 1]) * 1000);
    }
    std::vector<verify::LaunchTime> launches;
    for (std::size_t i = 0; i < entries.size(); ++i)
        launches.push_back({entries[i], summarize(std::move(times[i])).median_us});
    return launches;
}

}  // namespace fact::exec
