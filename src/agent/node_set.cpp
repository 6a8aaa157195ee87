#include "agent/node_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "support/diagnostics.h"

namespace fact::agent {

namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

Error unknown_node(const Graph& graph, const std::string& name) {
    std::vector<std::string> all;
    for (const auto& node : graph.nodes) all.push_back(node.name);
    const auto near = nearest(name, all);
    return {fmt::format("no operator is called '{}'", name),
            near.empty() ? "`look` lists them" : fmt::format("did you mean '{}'?", near), true};
}

// The operators outside the set that read results of the set and whose results the set reads,
// directly or through others: they would have to run while the kernel does.
std::vector<NodeId> between(const Graph& graph, const std::set<NodeId>& inside) {
    const auto count = graph.nodes.size();
    std::vector<bool> after(count), before(count);
    for (std::size_t i = 0; i < count; ++i)
        for (const ValueId value : graph::tensor_inputs(graph.nodes[i]))
            if (const auto from = graph[value].producer)
                after[i] = after[i] || after[index(*from)] || inside.contains(*from);
    for (std::size_t i = count; i-- > 0;) {
        if (!before[i] && !inside.contains(static_cast<NodeId>(i))) continue;
        for (const ValueId value : graph::tensor_inputs(graph.nodes[i]))
            if (const auto from = graph[value].producer) before[index(*from)] = true;
    }
    std::vector<NodeId> found;
    for (std::size_t i = 0; i < count; ++i)
        if (after[i] && before[i] && !inside.contains(static_cast<NodeId>(i)))
            found.push_back(static_cast<NodeId>(i));
    return found;
}

std::vector<std::string> names_of(const Graph& graph, const std::vector<NodeId>& nodes) {
    std::vector<std::string> names;
    for (const NodeId id : nodes) names.push_back(graph[id].name);
    return names;
}

}  // namespace

Result<NodeSet> node_set(const Graph& graph, const std::vector<std::string>& names) {
    if (names.empty()) return Error{"no operators were named", "name some that `look` lists", true};
    std::map<std::string_view, NodeId> by_name;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
        by_name.emplace(graph.nodes[i].name, static_cast<NodeId>(i));
    std::set<NodeId> inside;
    for (const auto& name : names) {
        const auto at = by_name.find(name);
        if (at == by_name.end()) return unknown_node(graph, name);
        inside.insert(at->second);
    }
    NodeSet set{{inside.begin(), inside.end()}, {}, {}};
    if (const auto missing = between(graph, inside); !missing.empty()) {
        auto with_missing = set.nodes;
        with_missing.insert(with_missing.end(), missing.begin(), missing.end());
        std::ranges::sort(with_missing);
        return Error{
            fmt::format("these cannot be one kernel: {} would have to run between them",
                        fmt::join(names_of(graph, missing), ", ")),
            fmt::format("this set can: {}", fmt::join(names_of(graph, with_missing), ", ")), true};
    }
    const auto users = graph::users(graph);
    const auto escapes = graph::escapes(graph);
    for (const NodeId id : set.nodes) {
        for (const ValueId value : graph::tensor_inputs(graph[id])) {
            const auto from = graph[value].producer;
            if (from && inside.contains(*from)) continue;
            if (std::ranges::find(set.inputs, value) == set.inputs.end())
                set.inputs.push_back(value);
        }
        for (const ValueId value : graph[id].outputs) {
            const auto& readers = users[index(value)];
            if (escapes[index(value)] || std::ranges::any_of(readers, [&](NodeId reader) {
                    return !inside.contains(reader);
                }))
                set.outputs.push_back(value);
        }
    }
    if (set.outputs.empty())
        return Error{"nothing outside reads what these operators make",
                     "add the operators that use their results", true};
    for (const auto* values : {&set.inputs, &set.outputs})
        for (const ValueId value : *values)
            if (!graph[value].type)
                return Error{fmt::format("{} is not a tensor that a kernel can read or write",
                                         graph[value].name),
                             "leave its operator out, or add its producer", true};
    return set;
}

}  // namespace fact::agent
