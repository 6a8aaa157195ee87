#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "match/attention/attention.h"
#include "match/candidate.h"
#include "match/leftovers.h"
#include "match/linears/siblings.h"
#include "match/norms/fold.h"
#include "match/norms/norm.h"
#include "match/operators/rowwise.h"
#include "match/patterns/pattern.h"
#include "match/regions/packed.h"
#include "match/regions/region.h"
#include "match/rotary/rotary.h"
#include "match/text/write.h"

namespace fact::match {

using graph::Graph;
using graph::Node;
using graph::NodeId;

namespace {

// One operator that trips us up, in whatever way, costs its pattern, not the run.
template <class Write>
auto guarded(Write write) -> decltype(write()) {
    try {
        return write();
    } catch (const std::exception& error) {
        return Error{std::string("a defect of FACT, please report it: ") + error.what(), ""};
    }
}

class Finder {
  public:
    Finder(const Graph& graph, const Options& options, const GpuSpec& gpu,
           std::span<const graph::Weight> weights)
        : graph_(graph), options_(options), gpu_(gpu), facts_(graph), known_(graph, weights) {}

    Discovery find() {
        for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
            const auto id = static_cast<NodeId>(i);
            if (is_attention(graph_[id]) || is_anchor(graph_[id])) add_attention(id);
            if (!is_anchor(graph_[id])) continue;
            if (auto grown = guarded([&] { return add_growths(id); }); !grown)
                reasons_[id] = grown.error().message;
        }
        // All products have grown: what one may absorb is no other's side operand to compute.
        for (auto& growth : growths_)
            if (auto added = guarded([&] { return add_candidates(growth); }); !added)
                note(growth.anchor.node, added.error().message);
        Discovery discovery;
        int products = -1;
        std::map<std::string, int> others;  // by rule: it begins with the id's letter
        std::optional<NodeId> last;
        std::string letter;  // of a product's patterns from the second on
        auto chosen = choose(std::move(candidates_));
        for (const Candidate& own : chosen) {
            taken_.insert(own.nodes.begin(), own.nodes.end());
            copied_.insert(own.copied.begin(), own.copied.end());
        }
        add_siblings(chosen);
        add_norms(chosen);
        add_folds(chosen);
        add_rotaries(chosen);
        std::ranges::stable_sort(chosen, {}, &Candidate::anchor);
        for (auto& candidate : chosen) {
            if (const std::string& rule = candidate.pattern.rule;
                rule == "norm" || rule == "rotary" || rule == "linears") {
                candidate.pattern.id =
                    fmt::format("{}{:02}_{}", rule.front(), others[rule]++, candidate.pattern.id);
                discovery.patterns.push_back(std::move(candidate.pattern));
                continue;
            }
            const bool again = last == candidate.anchor;
            if (!again) ++products;
            letter = !again ? "" : letter.empty() ? "b" : std::string(1, letter[0] + 1);
            last = candidate.anchor;
            candidate.pattern.id =
                fmt::format("p{:02}{}_{}", products, letter, candidate.pattern.id);
            discovery.patterns.push_back(std::move(candidate.pattern));
        }
        auto left = leftovers(graph_, facts_, {taken_, copied_, reasons_});
        discovery.left_alone = std::move(left.work);
        discovery.idle = std::move(left.idle);
        return discovery;
    }

  private:
    Result<> add_growths(NodeId id) {
        auto anchor = read_anchor(graph_, id);
        if (!anchor) return anchor.error();
        growths_.push_back(grow(graph_, facts_, *anchor));
        if (auto packed = read_packed(graph_, facts_, *anchor))
            growths_.push_back(grow(graph_, facts_, std::move(*packed)));
        return Ok{};
    }

    Result<> add_candidates(Growth& growth) {
        const auto take = [&](const Region& region) {
            auto pattern =
                guarded([&] { return write_pattern(graph_, facts_, region, options_, gpu_); });
            if (!pattern) {
                note(region.nodes.back(), pattern.error().message);
                return false;
            }
            candidates_.push_back({region.anchor.node,
                                   region.nodes,
                                   std::move(*pattern),
                                   has_rowwise(region),
                                   false,
                                   0,
                                   {region}});
            return true;
        };
        const auto with = regions(graph_, facts_, growth, true);
        const auto without = regions(graph_, facts_, growth, false);
        for (std::size_t i = 0; i < with.size(); ++i)
            if (!take(with[i]) && with[i].nodes != without[i].nodes) take(without[i]);
        for (const auto& [node, reason] : growth.stops) note(node, reason);
        return Ok{};
    }

    bool has_rowwise(const Region& region) const {
        return std::ranges::any_of(region.nodes,
                                   [&](NodeId id) { return find_rowwise(graph_[id]) != nullptr; });
    }

    void add_attention(NodeId id) {
        auto found =
            guarded([&] { return attention_pattern(graph_, facts_, known_, id, options_, gpu_); });
        if (!found) {
            if (!found.error().message.empty()) note(id, found.error().message);
            return;
        }
        Candidate own{id, std::move(found->nodes), std::move(found->pattern), false, found->held};
        own.copied = {found->copied.begin(), found->copied.end()};
        candidates_.push_back(std::move(own));
    }

    // Beside the patterns of the single linears: measuring decides.
    void add_siblings(std::vector<Candidate>& chosen) {
        std::vector<Region> linears;
        for (const Candidate& own : chosen)
            if (own.regions.size() == 1) linears.push_back(own.regions.front());
        using Groups = std::vector<std::vector<Region>>;
        auto groups =
            guarded([&]() -> Result<Groups> { return siblings(graph_, facts_, linears); });
        if (!groups) return;  // each is a pattern of its own
        for (auto& group : *groups) {
            auto joined = joined_candidate(group, nullptr);
            if (!joined) {  // those that nothing follows may not fit among the heads of others
                std::erase_if(group, is_plain);
                if (group.size() > 1) joined = joined_candidate(std::move(group), nullptr);
            }
            if (joined) chosen.push_back(std::move(*joined));
        }
    }

    std::optional<Candidate> joined_candidate(std::vector<Region> group, const Fold* fold) {
        auto pattern =
            guarded([&] { return write_siblings(graph_, facts_, group, fold, options_, gpu_); });
        if (!pattern) return std::nullopt;  // each is a pattern of its own
        Candidate joined{group.front().anchor.node, {}, std::move(*pattern), false};
        for (const Region& region : group)
            joined.nodes.insert(joined.nodes.end(), region.nodes.begin(), region.nodes.end());
        if (fold) joined.nodes.insert(joined.nodes.end(), fold->nodes.begin(), fold->nodes.end());
        joined.regions = std::move(group);
        return joined;
    }

    // Of what no product and no attention has taken.
    void add_norms(std::vector<Candidate>& chosen) {
        add_others(
            chosen, [&](const Node& node) { return is_norm(graph_, node); },
            [&](NodeId id) { return norm_pattern(graph_, facts_, taken_, id, options_, gpu_); },
            [&](NodeId id, const std::string& reason) { reasons_[id] = reason; });
    }

    // Beside a product whose rows come from a norm, the two as one: measuring decides.
    void add_folds(std::vector<Candidate>& chosen) {
        std::vector<Candidate> folded;
        for (const Candidate& plain : chosen) {
            if (plain.regions.empty()) continue;
            using Found = std::optional<Candidate>;
            auto found = guarded([&]() -> Result<Found> {
                const auto fold = read_fold(graph_, facts_, plain.regions.front().anchor);
                if (!fold || takes_more(chosen, *fold)) return Found();
                return plain.regions.size() > 1 ? joined_candidate(plain.regions, &*fold)
                                                : fold_candidate(plain, *fold);
            });
            if (found && *found) folded.push_back(std::move(**found));
        }
        for (auto& candidate : folded) {
            taken_.insert(candidate.nodes.begin(), candidate.nodes.end());
            chosen.push_back(std::move(candidate));
        }
    }

    // Whether the norm's own pattern computes more than the norm: a sum that would be left over.
    bool takes_more(const std::vector<Candidate>& chosen, const Fold& fold) const {
        return std::ranges::any_of(chosen, [&](const Candidate& own) {
            return own.pattern.rule == "norm" && holds_node(own.nodes, fold.norm) &&
                   std::ranges::any_of(own.nodes,
                                       [&](NodeId id) { return !holds_node(fold.nodes, id); });
        });
    }

    static bool holds_node(const std::vector<NodeId>& nodes, NodeId id) {
        return std::ranges::find(nodes, id) != nodes.end();
    }

    // The same region with the norm before it.
    std::optional<Candidate> fold_candidate(const Candidate& plain, const Fold& fold) {
        Region region = plain.regions.front();
        if (!fold_into(graph_, facts_, fold, region)) return std::nullopt;
        auto pattern =
            guarded([&] { return write_pattern(graph_, facts_, region, options_, gpu_); });
        if (!pattern) return std::nullopt;
        return Candidate{plain.anchor, region.nodes, std::move(*pattern), plain.rowwise};
    }

    // Of what is left then.
    void add_rotaries(std::vector<Candidate>& chosen) {
        add_others(
            chosen, [&](const Node& node) { return read_halving(graph_, node).has_value(); },
            [&](NodeId id) { return rotary_pattern(graph_, facts_, taken_, id, options_, gpu_); },
            [&](NodeId id, const std::string& reason) { note_around(id, reason); });
    }

    // Patterns without a product, each from a node that may begin one.
    template <class Begins, class Find, class Fail>
    void add_others(std::vector<Candidate>& chosen, Begins begins, Find find, Fail fail) {
        for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
            const auto id = static_cast<NodeId>(i);
            if (taken_.contains(id)) continue;
            const auto may = guarded([&]() -> Result<bool> { return begins(graph_[id]); });
            if (may && !*may) continue;
            auto found = may ? guarded([&] { return find(id); }) : may.error();
            if (!found) {
                fail(id, found.error().message);
                continue;
            }
            taken_.insert(found->nodes.begin(), found->nodes.end());
            chosen.push_back({id, std::move(found->nodes), std::move(found->pattern), false});
        }
    }

    // What reads halves is left for the same reason.
    void note_around(NodeId id, const std::string& reason) {
        for (const graph::ValueId value : graph_[id].outputs)
            for (const NodeId user : facts_.users[graph::index(value)]) note(user, reason);
    }

    // The first reason found for a node stands.
    void note(NodeId node, const std::string& reason) { reasons_.try_emplace(node, reason); }

    const Graph& graph_;
    const Options& options_;
    const GpuSpec& gpu_;
    Facts facts_;
    KnownValues known_;
    std::set<NodeId> copied_;  // by the patterns that were chosen
    std::vector<Growth> growths_;
    std::vector<Candidate> candidates_;
    std::set<NodeId> taken_;
    std::map<NodeId, std::string> reasons_;
};

}  // namespace

Discovery discover(const Graph& graph, const Options& options,
                   std::span<const graph::Weight> weights) {
    auto gpu = options.ceilings ? options.ceilings : find_gpu(options.gpu);
    if (!gpu) gpu = default_gpu(options.arch);
    if (!gpu) throw InternalError(fmt::format("no GPU is known as {}", options.gpu));
    return Finder(graph, options, *gpu, weights).find();
}

}  // namespace fact::match
