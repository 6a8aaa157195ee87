#include "match/leftovers.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/cats.h"
#include "graph/channels_last.h"
#include "graph/halves.h"
#include "graph/operators.h"
#include "graph/windows.h"
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

bool has_non_scalar(const Graph& graph, const std::vector<ValueId>& values) {
    return std::ranges::any_of(values, [&](ValueId value) {
        const auto& type = graph[value].type;
        return !type || !type->sizes.empty();  // a value without a type may be anything
    });
}

// Why a kernel could not gain anything from computing the node, or "".
std::string idle_reason(const Graph& graph, const Node& node) {
    if (graph::is_plain_view(node)) return "it is a view, which moves no data";
    const auto reads = graph::tensor_inputs(node);
    if (!has_non_scalar(graph, node.outputs) && !has_non_scalar(graph, reads))
        return "it is a single number";
    if (reads.empty() && node.target.find("rand") == node.target.npos) return "it makes a constant";
    return {};
}

std::string reason_for(const Graph& graph, const Facts& facts, const SearchOutcome& outcome,
                       NodeId id) {
    const Node& node = graph[id];
    if (node.target.find("dropout") != node.target.npos)
        return "active dropout draws random numbers: it stays with torch";
    if (node.target.starts_with("aten.rand")) return "it draws random numbers: it stays with torch";
    const auto reason = outcome.reasons.find(id);
    const bool has_reason = reason != outcome.reasons.end();
    // Rules cover a cat or stack only if it joins halves that some family has looked at.
    const bool supported = is_anchor(node) || is_attention(node) || find_rowwise(node) ||
                           graph::window_kind(node) || find_pointwise(node) != nullptr ||
                           (read_joining(graph, node) && has_reason);
    if (!supported && graph::read_cat(graph, node))
        return "it joins tensors: parts that kernels compute may be written in place";
    if (!supported) return fmt::format("no rule covers {} yet", node.target);
    if (has_reason) return reason->second;
    if (graph::changes_layout(graph, node))
        return "it only changes the layout in memory, which torch does as fast as memory allows";
    // A product may absorb the node, but no chosen pattern contains it.
    if (facts.updates.contains(id))
        return "it updates a buffer of the module, which stays with torch";
    const bool lost = facts.after_product.contains(id) && !outcome.taken.empty();
    return std::string(lost ? "another fusion around it gains more" : kNothingToFuseWith);
}

}  // namespace

Leftovers leftovers(const Graph& graph, const Facts& facts, const SearchOutcome& outcome) {
    Leftovers left;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        const auto id = static_cast<NodeId>(i);
        const Node& node = graph[id];
        if (outcome.taken.contains(id)) continue;
        if (outcome.copied.contains(id)) continue;  // removed if nothing else reads it
        auto idle = idle_reason(graph, node);
        if (idle.empty() && facts.once[i]) idle = "it is computed from weights alone, once";
        if (!idle.empty()) {
            left.idle.push_back({node.name, node.target, std::move(idle), node.where});
            continue;
        }
        left.work.push_back(
            {node.name, node.target, reason_for(graph, facts, outcome, id), node.where});
    }
    return left;
}

}  // namespace fact::match
