#include "agent/advice.h"

#include <fmt/format.h>

#include <algorithm>

namespace fact::agent {

namespace {

constexpr double kNear = 1.1;  // what is within 10 % of its bound is good

double bytes_between(const Seen& seen) {
    double all = 0;
    for (const auto& stage : seen.stages) all += stage.work.bytes;
    return std::max(0.0, all - seen.cost.bytes);
}

}  // namespace

std::string_view limit_of(const match::StageCost& stage) {
    if (stage.bound_us > std::max(stage.arithmetic_us, stage.memory_us)) return "launch";
    return stage.arithmetic_us > stage.memory_us ? "tensor cores" : "memory";
}

std::vector<std::string> advice(const Seen& seen) {
    std::vector<std::string> all;
    const double bound = seen.cost.bound_us, expected = seen.cost.expected_us;
    if (seen.stages.empty() || (seen.time_us > 0 && seen.time_us <= kNear * bound)) return all;
    if (seen.stages.size() > 1 && expected > kNear * bound)
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
    if (seen.time_us > 1.25 * expected) {
        const bool products = std::ranges::any_of(
            seen.stages, [](const auto& s) { return s.kind == lower::StageKind::product; });
        all.push_back(fmt::format(
            "it takes {:.2f} times what its kernels would at their bounds: {}",
            seen.time_us / expected,
            products ? "try other schedules (the action `schedules`), or less in the epilogue"
                     : "rows that are long, strided or reduced across memory run slower; another "
                       "order of dimensions, or a cut, may help"));
    }
    if (seen.time_us > 0 && seen.torch_us > 0 && seen.time_us > seen.torch_us)
        all.push_back("torch's own operators are faster: it will not be composed as it is");
    return all;
}

}  // namespace fact::agent
