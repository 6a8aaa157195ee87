#include "verify/f64.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace fact::verify {

namespace {

using graph::Graph;
using graph::Node;

// Operators that make a tensor of torch's default type if no dtype is given.
constexpr std::array<std::string_view, 12> kFactories{
    "aten.full.",         "aten.zeros.", "aten.ones.",     "aten.empty.",
    "aten.arange.",       "aten.eye.",   "aten.linspace.", "aten.rand.",
    "aten.scalar_tensor", "aten.randn.", "aten.empty_",    "aten.logspace."};

bool starts_with_any(std::string_view target, std::span<const std::string_view> prefixes) {
    return std::ranges::any_of(prefixes, [&](auto prefix) { return target.starts_with(prefix); });
}

bool floating(const Graph& graph, graph::ValueId id) {
    const auto& type = graph[id].type;
    return type && info(type->dtype).floating;
}

void widen(Graph& graph, Node& node) {
    bool has_dtype = false;
    for (auto& argument : node.inputs) {
        auto* dtype = std::get_if<graph::DTypeArg>(&argument.value);
        if (!dtype) continue;
        has_dtype = true;
        if (info(dtype->dtype).floating) dtype->dtype = DType::f64;
    }
    if (has_dtype || !starts_with_any(node.target, kFactories) || node.outputs.empty()) return;
    if (!floating(graph, node.outputs[0])) return;
    // An argument of that name that is not a DTypeArg is None.
    std::erase_if(node.inputs, [](const auto& argument) { return argument.name == "dtype"; });
    node.inputs.push_back({"dtype", graph::DTypeArg{DType::f64}, true});
}

}  // namespace

Result<Graph> f64_rewriting(const Graph& original) {
    Graph graph = original;
    std::erase_if(graph.nodes, [](const Node& node) {
        return node.target.starts_with("aten._assert_tensor_metadata");
    });
    for (auto& value : graph.values) value.producer.reset();
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        auto& node = graph.nodes[i];
        if (node.target == "aten.view.dtype")
            return Error{fmt::format("node {} reads the bits of a number ({})", node.name,
                                     graph::describe(node.where)),
                         "A subgraph that does so has no f64 form to compare a kernel with."};
        widen(graph, node);
        for (const auto output : node.outputs)
            graph[output].producer = static_cast<graph::NodeId>(i);
    }
    for (auto& value : graph.values)
        if (value.type && info(value.type->dtype).floating) value.type->dtype = DType::f64;
    return graph;
}

}  // namespace fact::verify
