#include "agent/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace fact::agent {

namespace {

double bytes_between(const Seen& seen) {
    double all = 0;
    for (const auto& stage : seen.stages) all += stage.work.bytes;
    return std::max(0.0, all - seen.cost.bytes);
}

// Of several kernels, the one that loses most time; none where all are close or none was timed.
std::optional<match::StageCost> furthest_from_bound(const Seen& seen) {
    if (seen.stages.size() < 2) return std::nullopt;
    const auto lost = [&](const match::StageCost& stage) {
        return time_of(stage, seen.launches) - kNearBound * stage.bound_us;
    };
    const auto most = std::ranges::max_element(seen.stages, {}, lost);
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

std::vector<std::string> advice(const Seen& seen) {
    std::vector<std::string> all;
    const double bound = seen.cost.bound_us, expected = seen.cost.expected_us;
    if (seen.stages.empty() || (seen.time_us > 0 && seen.time_us <= kNearBound * bound)) return all;
    if (seen.stages.size() > 1 && expected > kNearBound * bound)
        all.push_back(fmt::format(
            "the text is cut into {} kernels, which write and read {:.1f} MB between them and take "
            "{:.1f} us at best, where one kernel would take {:.1f}: keep less between them, or "
            "write what is between in a smaller type or before it grows",
            seen.stages.size(), bytes_between(seen) * 1e-6, expected, bound));
    const auto launches = std::ranges::count(seen.stages, std::string_view("launch"), &limit_of);
    if (launches > 0)
        all.push_back(fmt::format(
            "{} of its {} kernels are so short that their launch is what they take: fewer kernels, "
            "or a larger set of operators",
            launches, seen.stages.size()));
    if (seen.spill_bytes > 0)
        all.push_back(fmt::format(
            "the fastest candidate spills {} bytes of registers: a smaller tile, or less that is "
            "held beside the sums",
            seen.spill_bytes));
    if (const auto slowest = furthest_from_bound(seen))
        all.push_back(fmt::format(
            "of its {} kernels, the one that writes {} loses most: {:.1f} us where {:.1f} are its "
            "bound",
            seen.stages.size(), slowest->outputs, time_of(*slowest, seen.launches),
            slowest->bound_us));
    if (seen.time_us > 1.25 * expected) {
        const bool products = std::ranges::any_of(
            seen.stages, [](const auto& s) { return s.kind == lower::StageKind::product; });
        all.push_back(fmt::format(
            "it takes {:.2f} times what its kernels would at their bounds: {}",
            seen.time_us / expected,
            products ? "try other schedules, or less in the epilogue"
                     : "rows that are long, strided or reduced across memory run slower; another "
                       "order of dimensions, or a cut, may help"));
    }
    if (seen.time_us > 0 && seen.torch_us > 0 && seen.time_us > seen.torch_us)
        all.push_back("torch's own operators are faster: it will not be composed as it is");
    return all;
}

}  // namespace fact::agent
