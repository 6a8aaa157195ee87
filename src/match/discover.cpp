#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "match/pattern.h"
#include "match/pointwise.h"
#include "match/region.h"
#include "match/write.h"

namespace fact::match {

using graph::Graph;
using graph::Node;
using graph::NodeId;

namespace {

struct Candidate {
    NodeId anchor{};
    std::vector<NodeId> nodes;
    Pattern pattern;
};

class Finder {
  public:
    Finder(const Graph& graph, const Options& options, const GpuSpec& gpu)
        : graph_(graph), options_(options), gpu_(gpu), facts_(graph) {}

    Discovery find() {
        for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
            const auto id = static_cast<NodeId>(i);
            if (!is_anchor(graph_[id])) continue;
            auto anchor = read_anchor(graph_, id);
            if (anchor)
                growths_.push_back(grow(graph_, facts_, *anchor));
            else
                reasons_[id] = anchor.error().message;
        }
        // All products have grown: what one may absorb is no other's side operand to compute.
        for (auto& growth : growths_) add_candidates(growth);
        Discovery discovery;
        for (auto& candidate : choose()) discovery.patterns.push_back(std::move(candidate.pattern));
        for (std::size_t i = 0; i < discovery.patterns.size(); ++i)
            discovery.patterns[i].id = fmt::format("p{:02}_{}", i, discovery.patterns[i].id);
        discovery.left_alone = leftovers();
        return discovery;
    }

  private:
    void add_candidates(Growth& growth) {
        const auto take = [&](const Region& region) {
            auto pattern = write_pattern(graph_, facts_, region, options_, gpu_);
            if (!pattern) {
                note(region.nodes.back(), pattern.error().message);
                return false;
            }
            candidates_.push_back({region.anchor.node, region.nodes, std::move(*pattern)});
            return true;
        };
        const auto with = regions(graph_, facts_, growth, true);
        const auto without = regions(graph_, facts_, growth, false);
        for (std::size_t i = 0; i < with.size(); ++i)
            if (!take(with[i]) && with[i].nodes != without[i].nodes) take(without[i]);
        for (const auto& [node, reason] : growth.stops) note(node, reason);
    }

    // The first reason found for a node stands.
    void note(NodeId node, const std::string& reason) { reasons_.try_emplace(node, reason); }

    // Most gain first; regions that overlap a chosen one, or share its product, are passed over.
    std::vector<Candidate> choose() {
        std::ranges::stable_sort(candidates_, [](const Candidate& x, const Candidate& y) {
            if (x.pattern.priority != y.pattern.priority)
                return x.pattern.priority > y.pattern.priority;
            if (x.nodes.size() != y.nodes.size()) return x.nodes.size() < y.nodes.size();
            return x.anchor < y.anchor;
        });
        std::vector<Candidate> chosen;
        for (auto& candidate : candidates_) {
            if (std::ranges::any_of(candidate.nodes, [&](NodeId n) { return taken_.contains(n); }))
                continue;
            taken_.insert(candidate.nodes.begin(), candidate.nodes.end());
            chosen.push_back(std::move(candidate));
        }
        std::ranges::sort(chosen, {}, &Candidate::anchor);
        return chosen;
    }

    // Nodes that do work on a GPU and stay torch's, each with the reason.
    std::vector<LeftAlone> leftovers() const {
        std::vector<LeftAlone> left;
        for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
            const auto id = static_cast<NodeId>(i);
            const Node& node = graph_[id];
            if (taken_.contains(id) || is_view(node) || !computes(node)) continue;
            left.push_back({node.name, node.target, reason_for(id), node.where});
        }
        return left;
    }

    bool computes(const Node& node) const {
        return std::ranges::any_of(node.outputs, [&](graph::ValueId value) {
            const auto& type = graph_[value].type;
            return type && !type->sizes.empty() && !graph::tensor_inputs(node).empty();
        });
    }

    std::string reason_for(NodeId id) const {
        const Node& node = graph_[id];
        if (!is_anchor(node) && !find_pointwise(node))
            return fmt::format("no rule covers {} yet", node.target);
        if (const auto known = reasons_.find(id); known != reasons_.end()) return known->second;
        return facts_.after_product.contains(id) ? "another fusion around it gains more"
                                                 : "no product is next to it";
    }

    const Graph& graph_;
    const Options& options_;
    const GpuSpec& gpu_;
    Facts facts_;
    std::vector<Growth> growths_;
    std::vector<Candidate> candidates_;
    std::set<NodeId> taken_;
    std::map<NodeId, std::string> reasons_;
};

}  // namespace

Discovery discover(const Graph& graph, const Options& options) {
    auto gpu = find_gpu(options.gpu);
    if (!gpu) gpu = default_gpu(options.arch);
    if (!gpu) throw InternalError(fmt::format("no GPU is known as {}", options.gpu));
    return Finder(graph, options, *gpu).find();
}

}  // namespace fact::match
