#include "tune/ranking.h"

#include <algorithm>
#include <cmath>

namespace fact::tune {

namespace {

using verify::Outcome;

// A spread wider than this is noise, and no reason to take a slower kernel.
constexpr double kWidestTie = 0.005;
// A hot GPU was seen to turn the order of kernels that a cool one puts this close together.
constexpr double kNear = 0.06;

}  // namespace

double cost(const CandidateResult& r) {
    if (r.baseline_single.runs == 0) return r.single.median_us;
    const double single = r.single.median_us / r.baseline_single.median_us;
    if (r.held.runs == 0 || r.baseline_held.runs == 0) return single;
    return std::sqrt(single * r.held.median_us / r.baseline_held.median_us);
}

int best_of(const std::vector<CandidateResult>& results) {
    const bool held = std::any_of(results.begin(), results.end(), [](const auto& r) {
        return r.outcome == Outcome::passed && r.held.runs > 0;
    });
    const auto counts = [&](const CandidateResult& r) {
        return r.outcome == Outcome::passed && (!held || r.held.runs > 0);
    };
    int fastest = -1;
    for (std::size_t i = 0; i < results.size(); ++i)
        if (counts(results[i]) && (fastest < 0 || cost(results[i]) < cost(results[fastest])))
            fastest = static_cast<int>(i);
    if (fastest < 0) return -1;
    const verify::Timing& best = results[fastest].single;
    const double spread = best.median_us > 0 ? best.high_us / best.median_us - 1 : 0;
    const double tie = cost(results[fastest]) * (1 + std::min(spread, kWidestTie));
    for (int i = 0; i < fastest; ++i)
        if (counts(results[i]) && cost(results[i]) <= tie) return i;
    return fastest;
}

std::vector<int> contenders(const std::vector<CandidateResult>& results, int most) {
    std::vector<int> passed;
    for (std::size_t i = 0; i < results.size(); ++i)
        if (results[i].outcome == Outcome::passed && results[i].held.runs == 0)
            passed.push_back(static_cast<int>(i));
    std::stable_sort(passed.begin(), passed.end(),
                     [&](int a, int b) { return cost(results[a]) < cost(results[b]); });
    std::size_t count = 0;
    while (count < passed.size() && count < static_cast<std::size_t>(most) &&
           cost(results[passed[count]]) <= cost(results[passed[0]]) * (1 + kNear))
        ++count;
    passed.resize(count);
    return passed;
}

}  // namespace fact::tune
