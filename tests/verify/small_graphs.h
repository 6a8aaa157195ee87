// Graphs written by hand, for tests.
#pragma once

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

#include "graph/graph.h"

namespace fact::verify {

inline graph::TensorType dense(DType dtype, std::vector<std::int64_t> sizes) {
    graph::TensorType type{dtype, sizes, std::vector<std::int64_t>(sizes.size()), 0, false, "cpu"};
    std::int64_t stride = 1;
    for (std::size_t d = sizes.size(); d-- > 0;) {
        type.strides[d] = stride;
        stride *= sizes[d];
    }
    return type;
}

inline graph::ValueId add_input(graph::Graph& graph, std::string name, graph::TensorType type) {
    const auto id = graph.add_value({std::move(name), std::move(type), std::nullopt});
    graph::GraphInput input;
    input.value = id;
    graph.inputs.push_back(std::move(input));
    return id;
}

inline graph::ValueId add_node(graph::Graph& graph, std::string target,
                               std::vector<graph::NamedArgument> inputs, graph::TensorType type) {
    const auto name = "n" + std::to_string(graph.nodes.size());
    const auto id =
        graph.add_value({name, std::move(type), static_cast<graph::NodeId>(graph.nodes.size())});
    graph::Node node;
    node.target = std::move(target);
    node.inputs = std::move(inputs);
    node.outputs = {id};
    node.name = name;
    graph.nodes.push_back(std::move(node));
    return id;
}

inline void add_output(graph::Graph& graph, graph::ValueId value) {
    graph::GraphOutput output;
    output.value = value;
    graph.outputs.push_back(std::move(output));
}

inline const graph::TensorType& type_of(const graph::Graph& graph, std::string_view name) {
    for (const auto& value : graph.values)
        if (value.name == name) return *value.type;
    throw std::runtime_error("no such value");
}

}  // namespace fact::verify
