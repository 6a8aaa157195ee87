#include "compose/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

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

// The patterns that were taken, and the nodes that are gone with them.
struct Taken {
    std::vector<const match::Pattern*> patterns;
    std::unordered_map<std::string, const match::Pattern*> owner;

    const match::Pattern* overlapping(const match::Pattern& pattern) const {
        for (const auto& node : pattern.nodes)
            if (const auto at = owner.find(node); at != owner.end()) return at->second;
        return nullptr;
    }
    void add(const match::Pattern& pattern) {
        patterns.push_back(&pattern);
        for (const auto& node : pattern.nodes) owner.emplace(node, &pattern);
    }
    void drop_last() {
        for (const auto& node : patterns.back()->nodes) owner.erase(node);
        patterns.pop_back();
    }
};

// What others save together that take parts of the candidate's nodes and nothing else.
double parts_gain(const std::vector<Candidate>& candidates, const Candidate& whole) {
    const auto& nodes = whole.pattern->nodes;
    const std::unordered_set<std::string_view> inside(nodes.begin(), nodes.end());
    std::unordered_set<std::string_view> counted;
    double total = 0;
    for (const auto& part : candidates) {
        const auto& own = part.pattern->nodes;
        if (own.size() >= nodes.size() || !part.realized || !not_worth_it(part).empty()) continue;
        const auto fits = [&](const std::string& node) {
            return inside.contains(node) && !counted.contains(node);
        };
        if (!std::ranges::all_of(own, fits)) continue;
        counted.insert(own.begin(), own.end());
        total += gain(part);
    }
    return total;
}

// One after the other; `each` asks of every one whether the graph still has an order with it.
std::vector<Choice> choose(const graph::Graph& graph, const std::vector<Candidate>& candidates,
                           const std::vector<std::size_t>& order, bool each, Taken& taken) {
    std::vector<Choice> choices(candidates.size());
    for (const auto i : order) {
        const auto& candidate = candidates[i];
        auto& choice = choices[i];
        choice.why = candidate.realized ? not_worth_it(candidate) : candidate.why;
        if (!candidate.realized && choice.why.empty()) choice.why = "not realized";
        if (!choice.why.empty()) continue;
        if (const auto* other = taken.overlapping(*candidate.pattern)) {
            choice.why = fmt::format("{} takes its product and saves more", other->id);
            continue;
        }
        if (parts_gain(candidates, candidate) > gain(candidate)) {
            choice.why = "patterns of its parts save more together";
            continue;
        }
        taken.add(*candidate.pattern);
        if (each)
            if (const auto fits = rewrite(graph, taken.patterns); !fits) {
                choice.why = fits.error().message;
                taken.drop_last();
                continue;
            }
        choice.fused = true;
    }
    return choices;
}

}  // namespace

std::vector<Choice> choose(const graph::Graph& graph, const std::vector<Candidate>& candidates) {
    std::vector<std::size_t> order(candidates.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return gain(candidates[a]) > gain(candidates[b]);
    });
    // Hundreds of patterns of a deep model nearly always fit together: asked once for all.
    Taken taken;
    auto choices = choose(graph, candidates, order, false, taken);
    if (rewrite(graph, taken.patterns)) return choices;
    taken = {};
    return choose(graph, candidates, order, true, taken);
}

}  // namespace fact::compose
