// Graphs written by hand in tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace fact::graph::testing {

using Sizes = std::vector<std::int64_t>;

// Dense strides, the last dimension contiguous.
inline Sizes dense(const Sizes& sizes) {
    Sizes strides(sizes.size(), 1);
    for (std::size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
    return strides;
}

inline TensorType tensor(Sizes sizes, DType dtype = DType::f32) {
    TensorType type{.dtype = dtype, .sizes = sizes, .strides = dense(sizes)};
    return type;
}

inline TensorType tensor(Sizes sizes, Sizes strides) {
    return {.dtype = DType::f32, .sizes = std::move(sizes), .strides = std::move(strides)};
}

struct GraphBuilder {
    Graph graph;

    ValueId input(const std::string& name, TensorType type) {
        const ValueId id = graph.add_value({name, std::move(type), std::nullopt});
        graph.inputs.push_back({.value = id, .fqn = {}, .fixed = {}});
        return id;
    }
    // A node named like its output.
    ValueId node(const std::string& name, const std::string& target,
                 std::vector<NamedArgument> inputs, TensorType type) {
        const auto id = static_cast<NodeId>(graph.nodes.size());
        const ValueId value = graph.add_value({name, std::move(type), id});
        graph.nodes.push_back({.target = target,
                               .inputs = std::move(inputs),
                               .outputs = {value},
                               .where = {},
                               .name = name});
        return value;
    }
    // A node without results.
    void check(const std::string& name, const std::string& target,
               std::vector<NamedArgument> inputs) {
        graph.nodes.push_back({.target = target,
                               .inputs = std::move(inputs),
                               .outputs = {},
                               .where = {},
                               .name = name});
    }
    void output(ValueId id) {
        graph.outputs.push_back({.value = id, .fixed = None{}, .mutates = {}});
    }
};

}  // namespace fact::graph::testing
