#include "match/leftovers.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/halves.h"
#include "graph/operators.h"
#include "match/attention/call.h"
#include "match/axes/anchor.h"
#include "match/operators/pointwise.h"
#include "match/operators/rowwise.h"

namespace fact::match {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

namespace {

// Nodes that serve nothing but the module's buffers.
std::set<NodeId> updates(const Graph& graph, const Facts& facts) {
    std::vector<bool> result(graph.values.size());
    for (const auto& output : graph.outputs)
        if (output.value && output.mutates.empty()) result[graph::index(*output.value)] = true;
    std::set<NodeId> found;
    for (std::size_t i = graph.nodes.size(); i-- > 0;) {
        const auto id = static_cast<NodeId>(i);
        const bool only = std::ranges::all_of(graph[id].outputs, [&](ValueId value) {
            return !result[graph::index(value)] &&
                   std::ranges::all_of(facts.users[graph::index(value)],
                                       [&](NodeId user) { return found.contains(user); });
        });
        if (only) found.insert(id);
    }
    return found;
}

bool has_extent(const Graph& graph, const std::vector<ValueId>& values) {
    return std::ranges::any_of(values, [&](ValueId value) {
        const auto& type = graph[value].type;
        return !type || !type->sizes.empty();  // of what has no type we know, nothing is known
    });
}

// Why there is nothing in a node for a kernel to gain, or "".
std::string idle_because(const Graph& graph, const Node& node) {
    if (graph::is_plain_view(node)) return "it only changes how a tensor is looked at";
    const auto reads = graph::tensor_inputs(node);
    if (!has_extent(graph, node.outputs) && !has_extent(graph, reads))
        return "it is a single number";
    if (reads.empty() && node.target.find("rand") == node.target.npos) return "it makes a constant";
    return {};
}

std::string reason_for(const Graph& graph, const Facts& facts, const Sorted& sorted, NodeId id) {
    const Node& node = graph[id];
    if (node.target.find("dropout") != node.target.npos)
        return "active dropout draws random numbers: it stays with torch";
    if (node.target.starts_with("aten.rand")) return "it draws random numbers: it stays with torch";
    const auto said = sorted.reasons.find(id);
    const bool has_reason = said != sorted.reasons.end();
    const bool known = is_anchor(node) || is_attention(node) || find_rowwise(node) ||
                       find_pointwise(node) != nullptr || (read_joining(graph, node) && has_reason);
    if (!known) return fmt::format("no rule covers {} yet", node.target);
    if (has_reason) return said->second;
    // It may be next to what was tried and is no pattern in the end.
    const bool lost = facts.after_product.contains(id) && !sorted.taken.empty();
    return std::string(lost ? "another fusion around it gains more" : kNothingNear);
}

}  // namespace

Leftovers leftovers(const Graph& graph, const Facts& facts, const Sorted& sorted) {
    const auto updating = updates(graph, facts);
    Leftovers left;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        const auto id = static_cast<NodeId>(i);
        const Node& node = graph[id];
        if (sorted.taken.contains(id)) continue;
        if (sorted.copied.contains(id)) continue;  // it goes when nobody needs it any more
        if (auto idle = idle_because(graph, node); !idle.empty()) {
            left.idle.push_back({node.name, node.target, std::move(idle), node.where});
            continue;
        }
        left.work.push_back({node.name, node.target,
                             updating.contains(id)
                                 ? "it updates a buffer of the module, which stays with torch"
                                 : reason_for(graph, facts, sorted, id),
                             node.where});
    }
    return left;
}

}  // namespace fact::match
