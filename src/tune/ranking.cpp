#include "tune/ranking.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fact::tune {

namespace {

using verify::Outcome;

// Costs are a tie within the spread of the times, but at most within this fraction: a wider spread
// is noise, and no reason to take a slower kernel.
constexpr double kWidestTie = 0.005;
// Kernels whose costs differ by at most this fraction on a cool GPU were seen to change order on a
// hot one.
constexpr double kNear = 0.06;
// A launch of at least kLongUs has less power available in a module, after other kernels, than
// alone. A kernel that fetches less needs less power there, so it wins even if it is slower by the
// fraction kNearlyAsFast.
constexpr double kLongUs = 300, kNearlyAsFast = 0.03;

bool is_long(const CandidateResult& r) {
    return r.single.median_us >= kLongUs;
}

// Stands for an unknown amount of fetching, which ranks behind every known one.
constexpr double kUnknown = std::numeric_limits<double>::infinity();
double fetched(const CandidateResult& r) {
    return r.fetched > 0 ? r.fetched : kUnknown;
}

// The cheapest of the results for which `counts` is true; -1: none.
template <class Counts>
int cheapest(const std::vector<CandidateResult>& results, Counts counts) {
    int best = -1;
    for (std::size_t i = 0; i < results.size(); ++i)
        if (counts(results[i]) && (best < 0 || cost(results[i]) < cost(results[best])))
            best = static_cast<int>(i);
    return best;
}

// The least that is fetched by a result that costs at most `most` and for which `counts` is true.
template <class Counts>
double least_fetched(const std::vector<CandidateResult>& results, double most, Counts counts) {
    double least = kUnknown;
    for (const CandidateResult& r : results)
        if (counts(r) && cost(r) <= most) least = std::min(least, fetched(r));
    return least;
}

}  // namespace

double cost(const CandidateResult& r) {
    if (r.baseline_single.runs == 0) return r.single.median_us;
    const double single = r.single.median_us / r.baseline_single.median_us;
    if (r.sustained.runs == 0 || r.baseline_sustained.runs == 0) return single;
    return std::sqrt(single * r.sustained.median_us / r.baseline_sustained.median_us);
}

int best_of(const std::vector<CandidateResult>& results) {
    const bool any_sustained = std::any_of(results.begin(), results.end(), [](const auto& r) {
        return r.outcome == Outcome::passed && r.sustained.runs > 0;
    });
    double max_fetched = kUnknown;
    const auto counts = [&](const CandidateResult& r) {
        return r.outcome == Outcome::passed && (!any_sustained || r.sustained.runs > 0) &&
               fetched(r) <= max_fetched;
    };
    int fastest = cheapest(results, counts);
    if (fastest < 0) return -1;
    if (is_long(results[fastest]) && fetched(results[fastest]) < kUnknown) {
        max_fetched = least_fetched(results, cost(results[fastest]) * (1 + kNearlyAsFast), counts);
        fastest = cheapest(results, counts);
    }
    const Times& best = results[fastest].single;
    const double spread = best.median_us > 0 ? best.high_us / best.median_us - 1 : 0;
    const double tie = cost(results[fastest]) * (1 + std::min(spread, kWidestTie));
    for (int i = 0; i < fastest; ++i)
        if (counts(results[i]) && cost(results[i]) <= tie) return i;
    return fastest;
}

std::vector<int> contenders(const std::vector<CandidateResult>& results, int most) {
    std::vector<int> passed;
    for (std::size_t i = 0; i < results.size(); ++i)
        if (results[i].outcome == Outcome::passed && results[i].sustained.runs == 0)
            passed.push_back(static_cast<int>(i));
    std::stable_sort(passed.begin(), passed.end(),
                     [&](int a, int b) { return cost(results[a]) < cost(results[b]); });
    if (passed.empty()) return passed;
    const double max_cost = cost(results[passed[0]]) * (1 + kNear);
    std::erase_if(passed, [&](int i) { return cost(results[i]) > max_cost; });
    if (passed.size() <= static_cast<std::size_t>(most)) return passed;
    const auto last = passed.begin() + most - 1;
    if (is_long(results[passed[0]])) {  // keep one that fetches least
        const auto least = std::ranges::min_element(
            passed, {}, [&](int i) { return std::pair(fetched(results[i]), cost(results[i])); });
        if (least > last) std::iter_swap(last, least);
    }
    passed.resize(static_cast<std::size_t>(most));
    return passed;
}

}  // namespace fact::tune
