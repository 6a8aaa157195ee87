// Rotary embeddings that no product absorbs: grown around a node that takes halves of a tensor
// (graph/halves.h), with the casts and views before it and the pointwise operators after it.
#include <algorithm>
#include <optional>

#include "graph/halves.h"
#include "graph/operators.h"
#include "match/families/family.h"
#include "match/regions/start.h"
#include "match/text/write.h"

namespace fact::match {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

namespace {

constexpr std::size_t kMaxBefore = 4;  // the most casts and views before the halves

// The values that the region may start from, the last one farthest from the halves.
std::vector<ValueId> roots_of(const Graph& graph, const std::set<NodeId>& taken, ValueId source) {
    std::vector<ValueId> roots{source};
    while (roots.size() <= kMaxBefore) {
        const auto producer = graph[roots.back()].producer;
        if (!producer || taken.contains(*producer)) break;
        const Node& node = graph[*producer];
        const bool only_moves = node.target == "aten._to_copy.default" || graph::is_reshape(node) ||
                                node.target == "aten.permute.default";
        const auto reads = graph::tensor_inputs(node);
        if (!only_moves || reads.size() != 1) break;
        roots.push_back(reads.front());
    }
    return roots;
}

bool joins(const Graph& graph, const Region& region) {
    return std::ranges::any_of(
        region.nodes, [&](NodeId id) { return read_joining(graph, graph[id]).has_value(); });
}

bool begins_rotary(const Search& search, const Node& node) {
    return read_halving(search.graph, node).has_value();
}

Result<Candidate> find_rotary(Search& search, NodeId node) {
    const Graph& graph = search.graph;
    std::optional<Candidate> best;
    std::string reason =
        "it splits a tensor into halves that are not joined again as in a rotary embedding";
    const ValueId source = read_halving(graph, graph[node])->source;
    for (const ValueId root : roots_of(graph, search.taken, source)) {
        auto anchor = start_at(graph, root, "rotary");
        if (!anchor) continue;
        Growth growth = grow(graph, search.facts, std::move(*anchor), search.taken);
        for (const Region& region : regions(graph, search.facts, growth, Extras::producers)) {
            // A region may start from the same value and not contain this node.
            if (!joins(graph, region) || !std::ranges::binary_search(region.nodes, node)) continue;
            auto pattern = write_pattern(graph, search.facts, region, search.options, search.gpu);
            if (!pattern) {
                reason = pattern.error().message;
                continue;
            }
            if (best && best->pattern.priority >= pattern->priority) continue;
            best = Candidate{node, region.nodes, std::move(*pattern)};
        }
    }
    if (!best) return Error{reason, ""};
    return std::move(*best);
}

// The readers of the halves are left to torch for the same reason.
void note_readers(Search& search, NodeId node, const std::string& reason) {
    for (const ValueId value : search.graph[node].outputs)
        for (const NodeId user : search.facts.users[graph::index(value)]) search.note(user, reason);
}

}  // namespace

// Declared and listed in families.cpp.
extern const Family kRotary{'r', Round::second, Around{begins_rotary, find_rotary, note_readers}};

}  // namespace fact::match
