// Small graphs for the tests, written as a list of lines.
#pragma once

#include <string>
#include <vector>

#include "graph/fused.h"
#include "graph/graph.h"
#include "match/patterns/pattern.h"

namespace fact::compose {

// A graph over f32[8, 8] tensors. `nodes`: {output, inputs...}; the node is called as its output.
inline graph::Graph make_graph(const std::vector<std::string>& inputs,
                               const std::vector<std::vector<std::string>>& nodes,
                               const std::vector<std::string>& outputs) {
    graph::Graph g;
    const auto find = [&](const std::string& name) {
        for (std::size_t i = 0; i < g.values.size(); ++i)
            if (g.values[i].name == name) return static_cast<graph::ValueId>(i);
        throw InternalError("no value " + name);
    };
    const graph::TensorType type{DType::f32, {8, 8}, {8, 1}};
    for (const auto& name : inputs)
        g.inputs.push_back({g.add_value({name, type, {}}), graph::InputKind::user, {}, {}});
    for (const auto& line : nodes) {
        graph::Node node;
        node.target = "aten.op.default";
        node.name = line.front();
        for (std::size_t i = 1; i < line.size(); ++i)
            node.inputs.push_back({std::string(i, 'a'), find(line[i]), false});
        node.outputs.push_back(
            g.add_value({line.front(), type, static_cast<graph::NodeId>(g.nodes.size())}));
        g.nodes.push_back(node);
    }
    for (const auto& name : outputs) g.outputs.push_back({find(name), graph::None{}, {}});
    return g;
}

inline match::Pattern make_pattern(const std::string& id, const std::vector<std::string>& nodes,
                                   const std::vector<std::string>& inputs,
                                   const std::vector<std::string>& outputs, double priority = 1) {
    match::Pattern p;
    p.id = id;
    p.family = "family_" + id;
    p.nodes = nodes;
    p.inputs = inputs;
    p.outputs = outputs;
    p.priority = priority;
    return p;
}

// "x y = target(a, b)" lines: what a rewritten graph does.
inline std::string spell(const graph::Graph& g) {
    std::string out;
    for (const auto& node : g.nodes) {
        for (const auto value : node.outputs) out += g[value].name + " ";
        out += "= " + (node.target == graph::kFusedTarget ? "call " + node.name : node.name) + "(";
        std::string separator;
        for (const auto value : graph::tensor_inputs(node))
            out += separator + g[value].name, separator = ", ";
        out += ")\n";
    }
    return out;
}

}  // namespace fact::compose
