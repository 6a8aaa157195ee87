#include "graph/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <unordered_map>

#include "graph/references.h"
#include "support/result.h"

namespace fact::graph {

std::int64_t storage_length(std::span<const std::int64_t> sizes,
                            std::span<const std::int64_t> strides) {
    std::int64_t length = 1;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
        if (sizes[d] == 0) return 0;
        length += (sizes[d] - 1) * strides[d];
    }
    return length;
}

bool is_dense(const TensorType& type) {
    std::int64_t stride = 1;
    for (std::size_t d = type.sizes.size(); d-- > 0; stride *= type.sizes[d])
        if (type.sizes[d] != 1 && type.strides[d] != stride) return false;
    return true;
}

const Argument* find_argument(const Node& node, std::string_view name) {
    for (const NamedArgument& input : node.inputs)
        if (input.name == name) return &input.value;
    return nullptr;
}

std::vector<ValueId> tensor_inputs(const Node& node) {
    std::vector<ValueId> result;
    for (const NamedArgument& input : node.inputs)
        for_each_value(input.value, [&](ValueId id) { result.push_back(id); });
    return result;
}

std::vector<std::vector<NodeId>> users(const Graph& graph) {
    std::vector<std::vector<NodeId>> result(graph.values.size());
    const NameIndex names(graph);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        const auto reads = [&](ValueId id) {
            auto& list = result[index(id)];
            if (list.empty() || index(list.back()) != i) list.push_back(static_cast<NodeId>(i));
        };
        for (const NamedArgument& input : graph.nodes[i].inputs) {
            for_each_value(input.value, reads);
            for (const ValueId id : names.opaque_references(input.value)) reads(id);
        }
    }
    return result;
}

std::vector<bool> escapes(const Graph& graph) {
    std::vector<bool> result(graph.values.size());
    for (const GraphOutput& output : graph.outputs)
        if (output.value) result[index(*output.value)] = true;
    return result;
}

std::string describe(const Provenance& where) {
    std::string text;
    if (!where.file.empty()) {
        text = std::filesystem::path(where.file).filename().string();
        if (where.line > 0) text += fmt::format(":{}", where.line);
    }
    if (where.module_path.empty()) return text;
    return text.empty() ? where.module_path : text + ", " + where.module_path;
}

std::string describe_line(Provenance where) {
    where.module_path.clear();
    return describe(where);
}

Graph extract(const Graph& graph, const std::vector<NodeId>& nodes,
              const std::vector<ValueId>& inputs, const std::vector<ValueId>& outputs) {
    Graph result;
    result.torch_version = graph.torch_version;
    result.schema_version = graph.schema_version;
    std::unordered_map<std::size_t, ValueId> moved;
    const auto move_value = [&](ValueId id, std::optional<NodeId> producer) {
        const Value& old = graph[id];
        const ValueId added = result.add_value({old.name, old.type, producer});
        if (!moved.emplace(index(id), added).second)
            throw InternalError("extract: '" + old.name + "' is defined twice");
        return added;
    };
    const auto lookup = [&](ValueId id) {
        const auto found = moved.find(index(id));
        if (found == moved.end())
            throw InternalError("extract: '" + graph[id].name +
                                "' is read but neither an input "
                                "nor computed");
        return found->second;
    };

    for (const ValueId id : inputs) {
        GraphInput input{.value = move_value(id, std::nullopt), .fqn = {}, .fixed = {}};
        for (const GraphInput& old : graph.inputs)
            if (old.value == id) input.fixed = old.fixed;
        result.inputs.push_back(std::move(input));
    }
    std::vector<NodeId> ordered = nodes;
    std::sort(ordered.begin(), ordered.end());
    for (const NodeId id : ordered) {
        Node node = graph[id];
        for (NamedArgument& input : node.inputs)
            for_each_value(input.value, [&](ValueId& value) { value = lookup(value); });
        const auto position = static_cast<NodeId>(result.nodes.size());
        for (ValueId& value : node.outputs) value = move_value(value, position);
        result.nodes.push_back(std::move(node));
    }
    for (const ValueId id : outputs)
        result.outputs.push_back({.value = lookup(id), .fixed = None{}, .mutates = {}});
    return result;
}

}  // namespace fact::graph
