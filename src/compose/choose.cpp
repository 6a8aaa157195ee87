#include "compose/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "compose/rewrite.h"

namespace fact::compose {

namespace {

bool timed(const Candidate& c) {
    return c.fused.runs > 0 && c.baseline.runs > 0;
}

// Microseconds that fusing saves: measured, or else possible according to the bounds.
double gain(const Candidate& c) {
    return timed(c) ? c.baseline.median_us - c.fused.median_us : c.pattern->priority;
}

// Why the times speak against fusing, or "".
std::string not_worth_it(const Candidate& c) {
    if (!timed(c)) return {};
    const auto ratio = c.baseline.median_us / c.fused.median_us;
    if (gain(c) <= 0) return fmt::format("slower than torch ({:.2f}x)", ratio);
    if (gain(c) <= std::max(uncertainty(c.fused), uncertainty(c.baseline)))
        return fmt::format("the gain ({:.2f}x) is within the error of the measurement", ratio);
    return {};
}

// The patterns chosen so far, and the nodes that they replace.
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

// Why the candidate cannot be chosen, or "".
std::string refused(const Candidate& c) {
    if (c.realized) return not_worth_it(c);
    return c.why.empty() ? "not realized" : c.why;
}

bool overlap(const match::Pattern& a, const match::Pattern& b) {
    return std::ranges::any_of(a.nodes, [&](const std::string& node) {
        return std::ranges::find(b.nodes, node) != b.nodes.end();
    });
}

// Groups of candidates (by index) that overlap one another, directly or through others.
std::vector<std::vector<std::size_t>> rivals(const std::vector<Candidate>& candidates) {
    std::unordered_map<std::string, std::size_t> group_of;  // by node
    std::vector<std::vector<std::size_t>> groups(candidates.size());
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        if (!refused(candidates[i]).empty()) continue;
        groups[i] = {i};
        for (const auto& node : candidates[i].pattern->nodes) {
            const auto [at, fresh] = group_of.try_emplace(node, i);
            const std::size_t other = at->second;
            if (fresh || other == i) continue;
            for (const std::size_t member : groups[other]) {
                groups[i].push_back(member);
                for (const auto& own : candidates[member].pattern->nodes) group_of[own] = i;
            }
            groups[other].clear();
        }
    }
    std::erase_if(groups, [](const auto& group) { return group.size() < 2; });
    for (auto& group : groups)
        std::ranges::sort(group);  // so that the first of equally good sets wins
    return groups;
}

// The rivals that together save most. They are decided one after the other; of the sets that are
// equal in what later rivals may overlap, only the best one is kept, so that chains of rivals, such
// as convolutions and the norms between them, take time in proportion to their length.
class BestSet {
  public:
    BestSet(const std::vector<Candidate>& candidates, std::vector<std::size_t> members)
        : candidates_(candidates), members_(std::move(members)), last_rival_(members_.size()) {
        find_last_rivals();
        std::map<Open, Set> sets{{{}, {}}};
        for (std::size_t i = 0; i < members_.size(); ++i) sets = decided(i, sets);
        best_ = std::move(sets.begin()->second);  // nothing is open at the end
    }
    const std::vector<std::size_t>& members() const { return best_.taken; }

  private:
    using Open = std::vector<std::size_t>;  // taken members that later ones overlap
    struct Set {
        double saved = 0;
        std::vector<std::size_t> taken;  // candidates
    };

    // A node that a member and a later one share is enough to know the last one that overlaps it.
    void find_last_rivals() {
        std::unordered_map<std::string_view, std::size_t> last;  // member with a node
        for (std::size_t i = members_.size(); i-- > 0;)
            for (const auto& node : pattern(i).nodes)
                last_rival_[i] = std::max(last_rival_[i], last.try_emplace(node, i).first->second);
    }

    std::map<Open, Set> decided(std::size_t i, const std::map<Open, Set>& before) const {
        std::map<Open, Set> after;
        const auto keep = [&](Open open, const Set& set) {
            std::erase_if(open, [&](std::size_t member) { return last_rival_[member] <= i; });
            const auto [at, fresh] = after.try_emplace(std::move(open), set);
            if (!fresh && is_better(set, at->second)) at->second = set;
        };
        for (const auto& [open, set] : before) {
            if (std::ranges::none_of(
                    open, [&](std::size_t other) { return overlap(pattern(i), pattern(other)); })) {
                Open more = open;
                more.push_back(i);
                Set with = set;
                with.saved += gain(candidates_[members_[i]]);
                with.taken.push_back(members_[i]);
                keep(std::move(more), with);
            }
            keep(open, set);
        }
        drop_worst(after);
        return after;
    }

    // Of equally good sets the one with the first members.
    static bool is_better(const Set& set, const Set& known) {
        if (std::abs(set.saved - known.saved) > kTolerance) return set.saved > known.saved;
        const auto [mine, other] = std::ranges::mismatch(set.taken, known.taken);
        return mine != set.taken.end() && (other == known.taken.end() || *mine < *other);
    }

    // Where too many rivals overlap each other for all sets to be tried.
    static void drop_worst(std::map<Open, Set>& sets) {
        constexpr std::size_t kMost = 4096;
        if (sets.size() <= kMost) return;
        std::vector<std::map<Open, Set>::iterator> order;
        for (auto at = sets.begin(); at != sets.end(); ++at) order.push_back(at);
        std::ranges::sort(order, [](const auto& a, const auto& b) {
            if (a->second.saved != b->second.saved) return a->second.saved > b->second.saved;
            return a->second.taken < b->second.taken;
        });
        for (std::size_t i = kMost; i < order.size(); ++i) sets.erase(order[i]);
    }

    const match::Pattern& pattern(std::size_t member) const {
        return *candidates_[members_[member]].pattern;
    }

    static constexpr double kTolerance = 1e-6;  // for sums of the same times in another order
    const std::vector<Candidate>& candidates_;
    std::vector<std::size_t> members_, last_rival_;
    Set best_;
};

// The order in which candidates are considered: largest gain first, but among rivals first those
// that together save most.
std::vector<std::size_t> order_to_consider(const std::vector<Candidate>& candidates) {
    std::vector<bool> deferred(candidates.size());
    for (auto& group : rivals(candidates)) {
        for (const std::size_t i : group) deferred[i] = true;
        const BestSet best(candidates, std::move(group));
        for (const std::size_t i : best.members()) deferred[i] = false;
    }
    std::vector<std::size_t> order(candidates.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
        if (deferred[a] != deferred[b]) return static_cast<bool>(deferred[b]);
        return gain(candidates[a]) > gain(candidates[b]);
    });
    return order;
}

// Considers one after the other; with `check_each`, checks every time that the graph stays acyclic.
std::vector<Choice> choose(const graph::Graph& graph, const std::vector<Candidate>& candidates,
                           const std::vector<std::size_t>& order, bool check_each, Taken& taken) {
    std::vector<Choice> choices(candidates.size());
    for (const auto i : order) {
        const auto& candidate = candidates[i];
        auto& choice = choices[i];
        choice.why = refused(candidate);
        if (!choice.why.empty()) continue;
        if (const auto* other = taken.overlapping(*candidate.pattern)) {
            choice.why = fmt::format("{} overlaps it and saves more", other->id);
            continue;
        }
        taken.add(*candidate.pattern);
        if (check_each)
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
    const auto order = order_to_consider(candidates);
    // Hundreds of patterns of a deep model nearly always fit together, so all are checked at once
    // first.
    Taken taken;
    auto choices = choose(graph, candidates, order, false, taken);
    if (rewrite(graph, taken.patterns)) return choices;
    taken = {};
    return choose(graph, candidates, order, true, taken);
}

}  // namespace fact::compose
