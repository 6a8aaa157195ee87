// Operators that no other family takes: pointwise ones, reductions, softmax and norms along any
// dimensions, as many in one text as can be computed from one tensor.
#include <algorithm>
#include <map>

#include "graph/operators.h"
#include "graph/windows.h"
#include "match/families/family.h"
#include "match/operators/pointwise.h"
#include "match/operators/rowwise.h"
#include "match/regions/start.h"
#include "match/text/write.h"

namespace fact::match {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

namespace {

// These limit the time for large graphs.
constexpr std::size_t kMaxOperators = 64;  // of a region
constexpr std::size_t kMaxTexts = 16;      // that are written for one root
constexpr std::size_t kMaxRoots = 2;       // that are tried for one operator

bool is_computable(const Graph& graph, const Node& node) {
    if (is_anchor(node) || node.outputs.empty()) return false;
    if (graph::pools(node) && graph::read_windows(graph, node).ok()) return true;
    if (find_rowwise(node)) return unsupported_rowwise(graph, node).empty();
    return unsupported_pointwise(graph, node).empty();
}

// Whether the operator combines a large tensor with a smaller one.
bool broadcasts(const Graph& graph, const Node& node) {
    constexpr std::int64_t kLarge = 1 << 20, kSmall = 16;  // elements
    return std::ranges::any_of(graph::tensor_inputs(node), [&](ValueId value) {
        const auto& small = graph[value].type;
        const auto& large = graph[node.outputs.front()].type;
        return small && large && count(*large) >= kLarge && count(*small) >= kSmall &&
               count(*small) < count(*large);
    });
}

// Whether torch computes these operators as well as a kernel can: a single pointwise operator takes
// it as long as memory does, unless it reads a smaller tensor again and again.
bool is_best_in_torch(const Graph& graph, const Region& region) {
    std::vector<NodeId> pointwise;
    std::ranges::copy_if(region.nodes, std::back_inserter(pointwise),
                         [&](NodeId id) { return find_pointwise(graph[id]) != nullptr; });
    return pointwise.empty() || (pointwise.size() == 1 && !broadcasts(graph, graph[pointwise[0]]));
}

// The elements of the largest tensor that the operator reads or writes.
std::int64_t size_of(const Graph& graph, const Node& node) {
    std::int64_t largest = 0;
    for (const auto& values : {graph::tensor_inputs(node), node.outputs})
        for (const ValueId value : values)
            if (graph[value].type) largest = std::max(largest, count(*graph[value].type));
    return largest;
}

// The operators to begin with, which updates of buffers alone are not: those of the largest tensors
// first, so that what is small is taken along with them; then in execution order.
std::vector<NodeId> computable_nodes(const Graph& graph, const Facts& facts) {
    std::vector<NodeId> nodes;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
        if (const auto id = static_cast<NodeId>(i);
            is_computable(graph, graph[id]) && !facts.updates.contains(id))
            nodes.push_back(id);
    std::ranges::stable_sort(nodes, std::ranges::greater(),
                             [&](NodeId id) { return size_of(graph, graph[id]); });
    return nodes;
}

// The tensors that a region around the node may start from: the largest that it reads.
std::vector<ValueId> roots_of(const Search& search, NodeId id) {
    std::vector<ValueId> roots;
    for (const ValueId value : graph::tensor_inputs(search.graph[id]))
        if (search.graph[value].type && !search.facts.constant[graph::index(value)])
            roots.push_back(value);
    std::ranges::stable_sort(roots, std::ranges::greater(),
                             [&](ValueId value) { return count(*search.graph[value].type); });
    if (roots.size() > kMaxRoots) roots.resize(kMaxRoots);
    return roots;
}

// The largest region from the root that contains the node and saves time.
std::optional<Candidate> largest_from(Search& search, Facts& facts, const std::set<NodeId>& taken,
                                      ValueId root, NodeId node) {
    const Graph& graph = search.graph;
    auto anchor = start_at(graph, root, "rows");
    if (!anchor) return std::nullopt;
    Growth growth = grow(graph, facts, std::move(*anchor), taken, kMaxOperators);
    facts.after_product.clear();  // regions from other roots may take the same operators
    auto found = regions_with_and_without_updates(graph, facts, growth);
    std::ranges::stable_sort(found, std::ranges::greater(),
                             [](const Region& region) { return region.nodes.size(); });
    if (found.size() > kMaxTexts) found.resize(kMaxTexts);
    for (const Region& region : found) {
        if (!std::ranges::binary_search(region.nodes, node)) continue;
        const bool rowwise = has_rowwise(graph, region);
        if (!rowwise && is_best_in_torch(graph, region)) continue;
        const bool broadcasts_alone = region.nodes.size() == 1;
        auto pattern = guarded(
            [&] { return write_pattern(graph, facts, region, search.options, search.gpu); });
        // How far from their bounds torch's row-wise kernels are, and those that broadcast, is only
        // known when they are timed.
        if (pattern && (pattern->priority > 0 || rowwise || broadcasts_alone))
            return Candidate{node, region.nodes, std::move(*pattern)};
        if (!pattern) search.note(region.nodes.back(), pattern.error().message);
    }
    for (const auto& [stop, reason] : growth.stops) search.note(stop, reason);
    return std::nullopt;
}

// The best pattern that contains the node and none of `taken`.
std::optional<Candidate> best_with(Search& search, Facts& facts, const std::set<NodeId>& taken,
                                   NodeId node) {
    std::optional<Candidate> best;
    for (const ValueId root : roots_of(search, node)) {
        auto candidate = largest_from(search, facts, taken, root, node);
        if (candidate && (!best || candidate->pattern.priority > best->pattern.priority))
            best = std::move(candidate);
    }
    return best;
}

// What follows a convolution, without it: where our convolution may turn out slower than torch's,
// torch's and one kernel for the rest is the alternative. `taken` as for the other patterns.
std::vector<Candidate> find_after_convolutions(Search& search, Facts& facts,
                                               const std::set<NodeId>& taken) {
    constexpr double kClearlyFaster = 0.25;      // than separate operators, by the bounds of both
    std::map<NodeId, const Candidate*> largest;  // by convolution
    for (const Candidate& chosen : search.chosen) {
        const auto& cost = chosen.pattern.cost;
        if (!chosen.pattern.convolution || cost.expected_us < kClearlyFaster * cost.unfused_us)
            continue;
        const Candidate*& known = largest[chosen.anchor];
        if (!known || known->nodes.size() < chosen.nodes.size()) known = &chosen;
    }
    std::vector<Candidate> found;
    for (const auto& [convolution, with] : largest) {
        std::set<NodeId> others = taken;
        for (const NodeId node : with->nodes) others.erase(node);
        others.insert(convolution);
        std::optional<Candidate> best;
        for (const NodeId node : with->nodes) {
            if (node == convolution || !is_computable(search.graph, search.graph[node])) continue;
            auto after = best_with(search, facts, others, node);
            if (after && (!best || after->nodes.size() > best->nodes.size()))
                best = std::move(after);
        }
        if (best) found.push_back(std::move(*best));
    }
    return found;
}

std::vector<Candidate> find_rows(Search& search) {
    Facts facts = search.facts;
    facts.after_product.clear();  // products have chosen
    std::set<NodeId> taken = search.taken;
    std::vector<Candidate> found;
    for (std::size_t i = 0; i < search.graph.nodes.size(); ++i)
        if (const Node& node = search.graph.nodes[i]; graph::pools(node))
            if (const auto read = graph::read_windows(search.graph, node); !read)
                search.note(static_cast<NodeId>(i), read.error().message);
    for (const NodeId node : computable_nodes(search.graph, facts)) {
        if (taken.contains(node)) continue;
        auto best = best_with(search, facts, taken, node);
        if (!best) continue;
        taken.insert(best->nodes.begin(), best->nodes.end());
        found.push_back(std::move(*best));
    }
    for (Candidate& after : find_after_convolutions(search, facts, taken))
        found.push_back(std::move(after));
    for (std::size_t i = 0; i < search.graph.nodes.size(); ++i)
        if (const Node& node = search.graph.nodes[i]; find_rowwise(node) && !graph::pools(node))
            search.note(static_cast<NodeId>(i), unsupported_rowwise(search.graph, node));
    return found;
}

}  // namespace

// Declared and listed in families.cpp.
extern const Family kRows{'o', Round::second, Anywhere{find_rows}};

}  // namespace fact::match
