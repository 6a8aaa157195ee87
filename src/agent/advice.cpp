#include "agent/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace fact::agent {

namespace {

// A kernel that takes more than this many times the sum of its stages' bounds may need other
// schedules.
constexpr double kSlow = 1.25;

// The bytes of intermediates that the stages write and read.
double bytes_between(const MeasuredKernel& kernel) {
    double all = 0;
    for (const auto& stage : kernel.stages) all += stage.work.bytes;
    return std::max(0.0, all - kernel.cost.bytes);
}

// The stage that loses most time; nullopt if there is only one, if all are near their bounds, or if
// none was timed.
std::optional<match::StageCost> furthest_from_bound(const MeasuredKernel& kernel) {
    if (kernel.stages.size() < 2) return std::nullopt;
    const auto lost = [&](const match::StageCost& stage) {
        return time_of(stage, kernel.launches) - kNearBound * stage.bound_us;
    };
    const auto most = std::ranges::max_element(kernel.stages, {}, lost);
    return lost(*most) > 0 ? std::optional(*most) : std::nullopt;
}

}  // namespace

std::string_view limit_of(const match::StageCost& stage) {
    if (stage.bound_us > std::max(stage.arithmetic_us, stage.memory_us)) return "launch";
    return stage.arithmetic_us > stage.memory_us ? "tensor cores" : "memory";
}

double time_of(const match::StageCost& stage, const std::vector<verify::LaunchTime>& launches) {
    double us = 0;
    for (const auto& launch : launches)
        if (launch.entry.starts_with(stage.kernel + "_")) us += launch.us;
    return us;
}

std::vector<std::string> advice(const MeasuredKernel& kernel) {
    std::vector<std::string> all;
    const double bound = kernel.cost.bound_us, expected = kernel.cost.expected_us;
    if (kernel.stages.empty() || (kernel.time_us > 0 && kernel.time_us <= kNearBound * bound))
        return all;
    if (kernel.stages.size() > 1 && expected > kNearBound * bound)
        all.push_back(fmt::format(
            "the text is cut into {} kernels, which write and read {:.1f} MB of intermediates and "
            "take {:.1f} us at best, while one kernel would take {:.1f}: store fewer or smaller "
            "intermediates, in a 16-bit type or before they are broadcast",
            kernel.stages.size(), bytes_between(kernel) * 1e-6, expected, bound));
    const auto short_kernels =
        std::ranges::count(kernel.stages, std::string_view("launch"), &limit_of);
    if (short_kernels > 0)
        all.push_back(fmt::format(
            "{} of its {} kernels are so short that the launch is most of their time: use fewer "
            "kernels, or a larger set of operators",
            short_kernels, kernel.stages.size()));
    if (kernel.spill_bytes > 0)
        all.push_back(fmt::format(
            "the fastest candidate spills {} bytes of registers: use a smaller tile, or fewer "
            "operands in the epilogue",
            kernel.spill_bytes));
    if (const auto furthest = furthest_from_bound(kernel))
        all.push_back(fmt::format(
            "of its {} kernels, the one that writes {} loses most time: it takes {:.1f} us, its "
            "bound is {:.1f} us",
            kernel.stages.size(), furthest->outputs, time_of(*furthest, kernel.launches),
            furthest->bound_us));
    if (kernel.time_us > kSlow * expected) {
        const bool products = std::ranges::any_of(
            kernel.stages, [](const auto& s) { return s.kind == lower::StageKind::product; });
        all.push_back(fmt::format(
            "it takes {:.2f} times as long as its kernels would at their bounds: {}",
            kernel.time_us / expected,
            products ? "try other schedules, or a smaller epilogue"
                     : "rows that are long, strided or reduced over an outer dimension are slower; "
                       "another order of dimensions, or a split, may help"));
    }
    if (kernel.time_us > 0 && kernel.torch_us > 0 && kernel.time_us > kernel.torch_us)
        all.push_back("torch's own operators are faster: the package will not use this kernel");
    return all;
}

}  // namespace fact::agent
