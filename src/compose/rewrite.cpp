#include "compose/rewrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>
#include <unordered_map>

#include "graph/references.h"

namespace fact::compose {

namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

constexpr int kNoPattern = -1;

// A graph's nodes and values by name.
struct Names {
    std::unordered_map<std::string, NodeId> nodes;
    std::unordered_map<std::string, ValueId> values;

    explicit Names(const Graph& graph) {
        for (std::size_t i = 0; i < graph.nodes.size(); ++i)
            nodes.emplace(graph.nodes[i].name, static_cast<NodeId>(i));
        for (std::size_t i = 0; i < graph.values.size(); ++i)
            values.emplace(graph.values[i].name, static_cast<ValueId>(i));
    }
};

// A pattern with its names resolved to the graph's nodes and values.
struct Part {
    std::vector<NodeId> nodes, copied;
    std::vector<ValueId> inputs, outputs;
};

Error unknown_name(const match::Pattern& pattern, std::string_view what, std::string_view name) {
    return {fmt::format("pattern {} names {} {}, which the graph does not have", pattern.id, what,
                        name),
            "the discovery belongs to another graph: run `fact discover` again"};
}

Result<Part> resolve(const Names& names, const match::Pattern& pattern) {
    Part part;
    for (const bool copied : {false, true})
        for (const auto& name : copied ? pattern.copied : pattern.nodes) {
            const auto at = names.nodes.find(name);
            if (at == names.nodes.end()) return unknown_name(pattern, "node", name);
            (copied ? part.copied : part.nodes).push_back(at->second);
        }
    for (const bool out : {false, true})
        for (const auto& name : out ? pattern.outputs : pattern.inputs) {
            const auto at = names.values.find(name);
            if (at == names.values.end()) return unknown_name(pattern, "value", name);
            (out ? part.outputs : part.inputs).push_back(at->second);
        }
    return part;
}

Node call_node(const match::Pattern& pattern, const Part& part) {
    Node node;
    node.target = graph::kFusedTarget;
    node.name = pattern.id;
    node.where = pattern.where;
    node.outputs = part.outputs;
    node.inputs.push_back({"inputs", part.inputs, false});
    node.inputs.push_back({"call", pattern.id, false});
    return node;
}

// Every value a node depends on: its tensors, and values named by opaque arguments.
std::vector<ValueId> needs(const graph::NameIndex& index, const Node& node) {
    auto values = graph::tensor_inputs(node);
    for (const auto& argument : node.inputs)
        for (const auto value : index.opaque_references(argument.value)) values.push_back(value);
    return values;
}

// The nodes in an order in which each comes after those whose results it reads, otherwise by rank.
// Empty if some depend on each other, or if one reads a value that is computed inside a pattern and
// is not an output of it.
std::vector<std::size_t> execution_order(const Graph& graph, const std::vector<Node>& nodes,
                                         const std::vector<std::size_t>& rank) {
    std::unordered_map<std::size_t, std::size_t> producer;  // value -> position in `nodes`
    for (std::size_t i = 0; i < nodes.size(); ++i)
        for (const auto value : nodes[i].outputs) producer[index(value)] = i;
    std::vector<std::vector<std::size_t>> readers(nodes.size());
    std::vector<int> missing(nodes.size());  // inputs that are not computed yet
    const graph::NameIndex names(graph);
    for (std::size_t i = 0; i < nodes.size(); ++i)
        for (const auto value : needs(names, nodes[i]))
            if (const auto at = producer.find(index(value)); at != producer.end()) {
                readers[at->second].push_back(i);
                ++missing[i];
            } else if (graph[value].producer) {
                return {};
            }
    using Entry = std::pair<std::size_t, std::size_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    for (std::size_t i = 0; i < nodes.size(); ++i)
        if (!missing[i]) ready.emplace(rank[i], i);
    std::vector<std::size_t> order;
    while (!ready.empty()) {
        const auto at = ready.top().second;
        ready.pop();
        order.push_back(at);
        for (const auto next : readers[at])
            if (--missing[next] == 0) ready.emplace(rank[next], next);
    }
    if (order.size() != nodes.size()) order.clear();
    return order;
}

// A graph of these nodes, in this order, with only the values they and the outputs need.
Graph rebuild(const Graph& graph, const std::vector<Node>& nodes,
              const std::vector<std::size_t>& order) {
    Graph out;
    out.in_spec = graph.in_spec, out.out_spec = graph.out_spec;
    out.torch_version = graph.torch_version, out.schema_version = graph.schema_version;
    std::map<std::size_t, ValueId> renumbered;
    const auto renumber = [&](ValueId old) {
        const auto [at, fresh] = renumbered.try_emplace(index(old));
        if (fresh) {
            auto value = graph[old];
            value.producer.reset();
            at->second = out.add_value(std::move(value));
        }
        return at->second;
    };
    for (auto input : graph.inputs) {
        input.value = renumber(input.value);
        out.inputs.push_back(std::move(input));
    }
    for (const auto position : order) {
        Node node = nodes[position];
        for (auto& argument : node.inputs)
            graph::for_each_value(argument.value, [&](ValueId& value) { value = renumber(value); });
        for (auto& value : node.outputs) {
            value = renumber(value);
            out[value].producer = static_cast<NodeId>(out.nodes.size());
        }
        out.nodes.push_back(std::move(node));
    }
    for (auto output : graph.outputs) {
        if (output.value) output.value = renumber(*output.value);
        out.outputs.push_back(std::move(output));
    }
    return out;
}

// Nodes that were needed only by calls which now compute them themselves.
std::vector<bool> superseded(const Graph& graph, const std::vector<Part>& parts,
                             const std::vector<int>& owner) {
    std::vector<bool> copied(graph.nodes.size()), gone(graph.nodes.size());
    std::vector<bool> read = graph::escapes(graph);
    for (const Part& part : parts) {
        for (const NodeId node : part.copied) copied[index(node)] = true;
        for (const ValueId value : part.inputs) read[index(value)] = true;
    }
    const graph::NameIndex names(graph);
    for (std::size_t i = graph.nodes.size(); i-- > 0;) {
        if (owner[i] != kNoPattern) continue;
        const Node& node = graph.nodes[i];
        gone[i] = copied[i] && std::ranges::none_of(
                                   node.outputs, [&](ValueId value) { return read[index(value)]; });
        if (gone[i]) continue;
        for (const ValueId value : needs(names, node)) read[index(value)] = true;
    }
    return gone;
}

}  // namespace

Result<graph::FusedCall> make_call(const Graph& graph, const match::Pattern& pattern) {
    const auto part = resolve(Names(graph), pattern);
    if (!part) return part.error();
    graph::FusedCall call;
    call.id = pattern.id;
    call.kernel = pattern.family;
    call.params = pattern.params;
    call.results = pattern.results;
    std::vector<NodeId> nodes = part->nodes;
    nodes.insert(nodes.end(), part->copied.begin(), part->copied.end());
    call.original = graph::extract(graph, nodes, part->inputs, part->outputs);
    call.copied = pattern.copied;
    return call;
}

Result<Graph> rewrite(const Graph& graph, const std::vector<const match::Pattern*>& patterns) {
    const Names names(graph);
    std::vector<int> owner(graph.nodes.size(), kNoPattern);
    std::vector<Part> parts;
    for (std::size_t p = 0; p < patterns.size(); ++p) {
        auto part = resolve(names, *patterns[p]);
        if (!part) return part.error();
        for (const auto node : part->nodes) {
            auto& at = owner[index(node)];
            if (at != kNoPattern)
                return Error{fmt::format("patterns {} and {} both take node {}", patterns[at]->id,
                                         patterns[p]->id, graph[node].name),
                             {}};
            at = static_cast<int>(p);
        }
        parts.push_back(std::move(*part));
    }
    std::vector<Node> nodes;
    std::vector<std::size_t> rank;  // a node's old position; for a call that of its last node
    std::vector<std::size_t> last(patterns.size());
    const auto gone = superseded(graph, parts, owner);
    for (std::size_t i = 0; i < owner.size(); ++i) {
        if (gone[i]) continue;
        if (owner[i] == kNoPattern)
            nodes.push_back(graph.nodes[i]), rank.push_back(i);
        else
            last[owner[i]] = i;
    }
    for (std::size_t p = 0; p < patterns.size(); ++p)
        nodes.push_back(call_node(*patterns[p], parts[p])), rank.push_back(last[p]);

    const auto order = execution_order(graph, nodes, rank);
    if (order.size() != nodes.size())
        return Error{"these patterns cannot all be fused: they depend on each other's results", {}};
    auto out = rebuild(graph, nodes, order);
    if (const auto wrong = graph::verify(out); !wrong.empty())
        return Error{"the patterns do not fit the graph: " + wrong, {}};
    return out;
}

}  // namespace fact::compose
