#include "sol/stopping.h"

#include <fmt/format.h>

#include <algorithm>

namespace fact::sol {

namespace {

// The first quartile of the ratios of measured to modelled times; 0 if there are none.
double low_ratio(std::span<const Trial> tried) {
    std::vector<double> ratios;
    for (const Trial& trial : tried)
        if (trial.model_us > 0 && trial.measured_us > 0)
            ratios.push_back(trial.measured_us / trial.model_us);
    if (ratios.empty()) return 0;
    std::ranges::sort(ratios);
    return ratios[(ratios.size() - 1) / 4];
}

}  // namespace

double expected_best(std::span<const Trial> tried, std::span<const double> remaining_us) {
    double least = 0;
    for (const double us : remaining_us)
        if (us > 0 && (least == 0 || us < least)) least = us;
    return least * low_ratio(tried);
}

Verdict decide(const SearchState& state, const Rules& rules) {
    if (state.best_us <= 0) return {};
    if (state.remaining_us.empty()) return {false, "every candidate was tried"};
    if (state.bound_us > 0 && state.best_us <= state.bound_us * (1 + rules.near_bound) &&
        static_cast<int>(state.tried.size()) >= rules.min_near_bound)
        return {false, fmt::format("within {:.0f} % of the bound: {:.1f} us, bound {:.1f} us",
                                   100 * rules.near_bound, state.best_us, state.bound_us)};
    if (static_cast<int>(state.tried.size()) < rules.min_measured) return {};
    // A candidate without an estimate may have any time.
    if (std::ranges::any_of(state.remaining_us, [](double us) { return us <= 0; })) return {};
    const double expected = expected_best(state.tried, state.remaining_us);
    if (expected <= 0) return {};
    if (1 - expected / state.best_us >= rules.min_gain) return {};
    return {false,
            fmt::format("the model expects a gain of less than {:.0f} %", 100 * rules.min_gain)};
}

bool may_be_best(double model_us, const SearchState& state, const Rules& rules) {
    const double ratio = low_ratio(state.tried);
    if (model_us <= 0 || ratio == 0 || state.best_us <= 0) return true;
    if (static_cast<int>(state.tried.size()) < rules.min_measured) return true;
    return model_us * ratio <= state.best_us;
}

}  // namespace fact::sol
