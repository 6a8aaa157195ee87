#include "compose/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "compose/rewrite.h"

namespace fact::compose {

namespace {

bool timed(const Candidate& c) {
    return c.fused.runs > 0 && c.baseline.runs > 0;
}

double gain(const Candidate& c) {
    return timed(c) ? c.baseline.median_us - c.fused.median_us : c.pattern->priority;
}

// Why the times speak against fusing, or "".
std::string not_worth_it(const Candidate& c) {
    if (!timed(c)) return {};
    const auto ratio = c.baseline.median_us / c.fused.median_us;
    if (gain(c) <= 0) return fmt::format("slower than torch ({:.2f}x)", ratio);
    const auto half = [](const Times& t) { return (t.high_us - t.low_us) / 2; };
    if (gain(c) <= std::max(half(c.fused), half(c.baseline)))
        return fmt::format("the gain ({:.2f}x) is within the spread", ratio);
    return {};
}

// The first of the patterns that shares a node with this one.
const match::Pattern* overlapping(const match::Pattern& pattern,
                                  const std::vector<const match::Pattern*>& taken) {
    for (const auto* other : taken)
        for (const auto& node : other->nodes)
            if (std::find(pattern.nodes.begin(), pattern.nodes.end(), node) != pattern.nodes.end())
                return other;
    return nullptr;
}

}  // namespace

std::vector<Choice> choose(const graph::Graph& graph, const std::vector<Candidate>& candidates) {
    std::vector<std::size_t> order(candidates.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return gain(candidates[a]) > gain(candidates[b]);
    });
    std::vector<Choice> choices(candidates.size());
    std::vector<const match::Pattern*> taken;
    for (const auto i : order) {
        const auto& candidate = candidates[i];
        auto& choice = choices[i];
        choice.why = candidate.realized ? not_worth_it(candidate) : candidate.why;
        if (!candidate.realized && choice.why.empty()) choice.why = "not realized";
        if (!choice.why.empty()) continue;
        if (const auto* other = overlapping(*candidate.pattern, taken)) {
            choice.why = fmt::format("{} takes its product and saves more", other->id);
            continue;
        }
        taken.push_back(candidate.pattern);
        if (const auto fits = rewrite(graph, taken); !fits) {
            choice.why = fits.error().message;
            taken.pop_back();
            continue;
        }
        choice.fused = true;
    }
    return choices;
}

}  // namespace fact::compose
