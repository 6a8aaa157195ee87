#include "sol/stopping.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

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

std::vector<bool> keep_below(std::span<const double> model_us, double most, std::size_t always) {
    std::vector<std::size_t> order(model_us.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](auto a, auto b) { return model_us[a] < model_us[b]; });
    std::vector<bool> keep(model_us.size());
    std::size_t ranked = 0;
    for (const std::size_t i : order) {
        const bool known = model_us[i] > 0;
        keep[i] = !known || model_us[i] <= most || ranked < always;
        ranked += known;
    }
    return keep;
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

std::vector<bool> worth_compiling(std::span<const double> model_us, const Rules& rules) {
    double best = 0;
    for (const double us : model_us)
        if (us > 0 && (best == 0 || us < best)) best = us;
    return keep_below(model_us, best * (1 + rules.prune_margin), rules.always_kept);
}

std::vector<bool> worth_compiling(std::span<const double> model_us, std::span<const Tried> tried,
                                  double best_us, const Rules& rules) {
    const double ratio = low_ratio(tried);
    if (ratio == 0 || best_us <= 0 || static_cast<int>(tried.size()) < rules.least_measured)
        return worth_compiling(model_us, rules);
    return keep_below(model_us, best_us / ratio, 0);
}

}  // namespace fact::sol
