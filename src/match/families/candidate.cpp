#include "match/families/candidate.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace fact::match {

using graph::NodeId;

namespace {

// A bound is no measurement: small differences between kernels of several stages say nothing.
void even_out_gains(std::vector<Candidate>& candidates) {
    constexpr double kNear = 0.25;  // of what the operators take one by one
    std::map<NodeId, double> best;
    for (const auto& candidate : candidates) {
        if (!candidate.rowwise) continue;
        const double own = candidate.pattern.priority;
        auto& most = best.try_emplace(candidate.anchor, own).first->second;
        most = std::max(most, own);
    }
    for (auto& candidate : candidates) {
        candidate.gain = candidate.pattern.priority;
        if (!candidate.rowwise) continue;
        const double most = best.at(candidate.anchor);
        const bool near = candidate.gain >= most - kNear * candidate.pattern.cost.unfused_us;
        if (near) candidate.gain = most;
    }
}

// Of equal gain the larger region where rows are looked along, else the smaller one.
auto rank(const Candidate& own) {
    const auto size = static_cast<std::ptrdiff_t>(own.nodes.size());
    return std::tuple(!own.whole, -own.gain, own.rowwise ? -size : size, own.anchor);
}

}  // namespace

std::vector<Candidate> choose(std::vector<Candidate> candidates) {
    even_out_gains(candidates);
    std::ranges::stable_sort(candidates, {}, rank);
    std::vector<Candidate> chosen;
    std::map<NodeId, NodeId> owner;  // which product's pattern a node is in
    for (auto& candidate : candidates) {
        const bool foreign = std::ranges::any_of(candidate.nodes, [&](NodeId node) {
            const auto taken = owner.find(node);
            return taken != owner.end() && taken->second != candidate.anchor;
        });
        const bool known = std::ranges::any_of(chosen, [&](const Candidate& other) {
            return other.anchor == candidate.anchor &&
                   (other.whole || other.rowwise == candidate.rowwise);
        });
        if (foreign || known) continue;
        for (const NodeId node : candidate.nodes) owner[node] = candidate.anchor;
        chosen.push_back(std::move(candidate));
    }
    std::ranges::stable_sort(chosen, [](const Candidate& x, const Candidate& y) {
        if (x.anchor != y.anchor) return x.anchor < y.anchor;
        return x.nodes.size() > y.nodes.size();
    });
    return chosen;
}

}  // namespace fact::match
