#include "match/facts.h"

#include <algorithm>
#include <string_view>

#include "match/space.h"

namespace fact::match {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

Facts::Facts(const Graph& graph)
    : users(graph::users(graph)),
      escapes(graph::escapes(graph)),
      constant(graph.values.size(), false) {
    std::set<std::string_view> written;  // buffers that a call changes
    for (const auto& output : graph.outputs)
        if (!output.mutates.empty()) written.insert(output.mutates);
    for (const auto& input : graph.inputs)
        constant[graph::index(input.value)] =
            input.kind != graph::InputKind::user && !written.contains(input.fqn);
    for (const auto& node : graph.nodes) {
        const auto reads = graph::tensor_inputs(node);
        if (!is_view(node) || reads.empty() || !constant[graph::index(reads.front())]) continue;
        // What does not lie in its order is copied to be reshaped, at every call anew.
        if (node.target == "aten.reshape.default" && !graph::is_dense(*graph[reads.front()].type))
            continue;
        for (const ValueId value : node.outputs) constant[graph::index(value)] = true;
    }
}

bool only_used_in(const Facts& facts, ValueId value, const std::set<NodeId>& nodes) {
    if (facts.escapes[graph::index(value)]) return false;
    return std::ranges::all_of(facts.users[graph::index(value)],
                               [&](NodeId user) { return nodes.contains(user); });
}

}  // namespace fact::match
