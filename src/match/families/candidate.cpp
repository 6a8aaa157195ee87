#include "match/families/candidate.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace fact::match {

using graph::NodeId;

namespace {

// Small differences between bounds of kernels with several stages mean nothing: candidates near the
// best one of their anchor get its gain.
void equalize_near_gains(std::vector<Candidate>& candidates) {
    constexpr double kNear = 0.25;  // as a share of the separate operators' time
    std::map<NodeId, double> best;
    for (const auto& candidate : candidates) {
        if (!candidate.rowwise) continue;
        const double gain = candidate.pattern.priority;
        auto& most = best.try_emplace(candidate.anchor, gain).first->second;
        most = std::max(most, gain);
    }
    for (auto& candidate : candidates) {
        candidate.gain = candidate.pattern.priority;
        if (!candidate.rowwise) continue;
        const double most = best.at(candidate.anchor);
        const bool near = candidate.gain >= most - kNear * candidate.pattern.cost.unfused_us;
        if (near) candidate.gain = most;
    }
}

// At equal gain, prefers larger candidates if they are row-wise, else smaller ones.
auto rank(const Candidate& candidate) {
    const auto size = static_cast<std::ptrdiff_t>(candidate.nodes.size());
    return std::tuple(!candidate.whole_attention, -candidate.gain, candidate.rowwise ? -size : size,
                      candidate.anchor);
}

}  // namespace

std::vector<Candidate> choose(std::vector<Candidate> candidates) {
    equalize_near_gains(candidates);
    std::ranges::stable_sort(candidates, {}, rank);
    std::vector<Candidate> chosen;
    std::map<NodeId, NodeId> owner;  // the anchor of the chosen candidate that contains a node
    for (auto& candidate : candidates) {
        const bool overlaps = std::ranges::any_of(candidate.nodes, [&](NodeId node) {
            const auto taken = owner.find(node);
            return taken != owner.end() && taken->second != candidate.anchor;
        });
        const bool has_better = std::ranges::any_of(chosen, [&](const Candidate& other) {
            return other.anchor == candidate.anchor &&
                   (other.whole_attention || other.rowwise == candidate.rowwise);
        });
        if (overlaps || has_better) continue;
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
