#include "match/regions/facts.h"

#include <algorithm>
#include <string_view>

#include "graph/constants.h"
#include "graph/operators.h"
#include "match/axes/space.h"

namespace fact::match {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

namespace {

std::set<NodeId> find_updates(const Graph& graph, const std::vector<std::vector<NodeId>>& users) {
    std::vector<bool> returned(graph.values.size());
    for (const auto& output : graph.outputs)
        if (output.value && output.mutates.empty()) returned[graph::index(*output.value)] = true;
    std::set<NodeId> found;
    for (std::size_t i = graph.nodes.size(); i-- > 0;) {
        const auto id = static_cast<NodeId>(i);
        const bool only_updates = std::ranges::all_of(graph[id].outputs, [&](ValueId value) {
            return !returned[graph::index(value)] &&
                   std::ranges::all_of(users[graph::index(value)],
                                       [&](NodeId user) { return found.contains(user); });
        });
        if (only_updates) found.insert(id);
    }
    return found;
}

}  // namespace

Facts::Facts(const Graph& graph)
    : users(graph::users(graph)),
      escapes(graph::escapes(graph)),
      constant(graph.values.size(), false),
      once(graph::constant_nodes(graph)),
      updates(find_updates(graph, users)) {
    std::set<std::string_view> changed;  // buffers that a call writes to
    for (const auto& output : graph.outputs)
        if (!output.mutates.empty()) changed.insert(output.mutates);
    for (const auto& input : graph.inputs)
        constant[graph::index(input.value)] =
            input.kind != graph::InputKind::user && !changed.contains(input.fqn);
    for (const auto& node : graph.nodes) {
        const auto reads = graph::tensor_inputs(node);
        if (!graph::is_plain_view(node) || reads.empty() || !constant[graph::index(reads.front())])
            continue;
        // Reshaping a tensor that is not dense copies it in every call.
        if (node.target == "aten.reshape.default" && !graph::is_dense(*graph[reads.front()].type))
            continue;
        for (const ValueId value : node.outputs) constant[graph::index(value)] = true;
    }
}

std::int64_t count(const graph::TensorType& type) {
    std::int64_t product = 1;
    for (const auto size : type.sizes) product *= size;
    return product;
}

bool only_used_in(const Facts& facts, ValueId value, const std::set<NodeId>& nodes) {
    return !facts.escapes[graph::index(value)] && used_outside(facts, value, nodes).empty();
}

std::vector<NodeId> used_outside(const Facts& facts, ValueId value, const std::set<NodeId>& nodes) {
    std::vector<NodeId> outside;
    for (const NodeId user : facts.users[graph::index(value)])
        if (!nodes.contains(user)) outside.push_back(user);
    return outside;
}

bool feeds_back(const Graph& graph, const Facts& facts, const std::set<NodeId>& nodes,
                std::vector<NodeId> outside) {
    std::set<NodeId> visited;
    while (!outside.empty()) {
        const NodeId id = outside.back();
        outside.pop_back();
        if (nodes.contains(id)) return true;
        if (!visited.insert(id).second) continue;
        for (const ValueId value : graph[id].outputs)
            for (const NodeId user : facts.users[graph::index(value)]) outside.push_back(user);
    }
    return false;
}

}  // namespace fact::match
