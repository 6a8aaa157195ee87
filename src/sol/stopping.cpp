#include "sol/stopping.h"

#include <fmt/format.h>

#include <algorithm>

namespace fact::sol {

namespace {

// The first quartile of measured over modelled times, by nearest rank; 0 where there is none.
double low_ratio(std::span<const Tried> tried) {
    std::vector<double> ratios;
    for (const Tried& one : tried)
        if (one.model_us > 0 && one.measured_us > 0)
            ratios.push_back(one.measured_us / one.model_us);
    if (ratios.empty()) return 0;
    std::ranges::sort(ratios);
    return ratios[(ratios.size() - 1) / 4];
}

}  // namespace

double expected_best(std::span<const Tried> tried, std::span<const double> remaining_us) {
    double least = 0;
    for (const double us : remaining_us)
        if (us > 0 && (least == 0 || us < least)) least = us;
    return least * low_ratio(tried);
}

Verdict decide(const Standing& standing, const Rules& rules) {
    if (standing.best_us <= 0) return {};
    if (standing.remaining_us.empty()) return {false, "every candidate was tried"};
    if (standing.bound_us > 0 && standing.best_us <= standing.bound_us * (1 + rules.near_bound) &&
        static_cast<int>(standing.tried.size()) >= rules.least_near_bound)
        return {false, fmt::format("within {:.0f} % of the bound: {:.1f} us, bound {:.1f} us",
                                   100 * rules.near_bound, standing.best_us, standing.bound_us)};
    if (static_cast<int>(standing.tried.size()) < rules.least_measured) return {};
    // One the model knows nothing of may be anything.
    if (std::ranges::any_of(standing.remaining_us, [](double us) { return us <= 0; })) return {};
    const double expected = expected_best(standing.tried, standing.remaining_us);
    if (expected <= 0) return {};
    if (1 - expected / standing.best_us >= rules.least_gain) return {};
    return {false, fmt::format("the model expects under {:.0f} % more", 100 * rules.least_gain)};
}

bool may_be_best(double model_us, const Standing& standing, const Rules& rules) {
    const double ratio = low_ratio(standing.tried);
    if (model_us <= 0 || ratio == 0 || standing.best_us <= 0) return true;
    if (static_cast<int>(standing.tried.size()) < rules.least_measured) return true;
    return model_us * ratio <= standing.best_us;
}

}  // namespace fact::sol
