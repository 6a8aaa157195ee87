#include "graph/printer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "graph/image_layout.h"
#include "support/table.h"

namespace fact::graph {

namespace {

std::string shape_text(const TensorType& type) {
    // Extents known only at run time are shown as they were traced.
    return fmt::format("[{}]{}", fmt::join(type.sizes, ", "), type.dynamic ? "*" : "");
}

// "[2, 4, 8] x3" for three results of one shape, a list for different ones.
template <class Text>
std::string result_text(const Graph& graph, const Node& node, Text text) {
    std::vector<std::string> parts;
    for (const ValueId id : node.outputs)
        parts.push_back(graph[id].type ? text(*graph[id].type) : std::string("-"));
    if (parts.empty()) return "-";
    if (std::all_of(parts.begin(), parts.end(), [&](const auto& p) { return p == parts[0]; }))
        return parts.size() == 1 ? parts[0] : fmt::format("{} x{}", parts[0], parts.size());
    return fmt::format("{}", fmt::join(parts, " "));
}

std::string value_line(const Value& value, std::string_view note) {
    const std::string type =
        value.type ? fmt::format("{} {}", info(value.type->dtype).name, shape_text(*value.type))
                   : "not a tensor";
    return fmt::format("  {}: {}{}\n", value.name, type, note);
}

std::string byte_text(double bytes) {
    constexpr std::array<std::string_view, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
    return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, kUnits[unit]);
}

std::string weights_line(const Graph& graph) {
    constexpr std::array<std::pair<InputKind, std::string_view>, 3> kKinds{
        {{InputKind::parameter, "parameter"},
         {InputKind::buffer, "buffer"},
         {InputKind::constant, "constant"}}};
    std::vector<std::string> parts;
    double bytes = 0;
    for (const auto& [kind, name] : kKinds) {
        int count = 0;
        for (const GraphInput& input : graph.inputs) {
            if (input.kind != kind) continue;
            ++count;
            if (graph[input.value].type) bytes += bytes_of(*graph[input.value].type);
        }
        parts.push_back(fmt::format("{} {}{}", count, name, count == 1 ? "" : "s"));
    }
    return fmt::format("weights: {}, {}\n", fmt::join(parts, ", "), byte_text(bytes));
}

}  // namespace

std::string print(const Graph& graph) {
    std::string text = fmt::format("{} nodes", graph.nodes.size());
    if (!graph.torch_version.empty()) text += fmt::format(", torch {}", graph.torch_version);
    if (!graph.schema_version.empty()) text += fmt::format(", schema {}", graph.schema_version);
    text += "\n\ninputs:\n";
    for (const GraphInput& input : graph.inputs)
        if (input.kind == InputKind::user)
            text += input.fixed ? fmt::format("  {}: fixed when traced\n", graph[input.value].name)
                                : value_line(graph[input.value], "");
    text += weights_line(graph);

    Table table({{"name"}, {"op"}, {"shape"}, {"dtype"}, {"source"}, {"module"}});
    for (const Node& node : graph.nodes) {
        Provenance line = node.where;
        line.module_path.clear();
        table.row(
            {node.name, node.target, result_text(graph, node, shape_text),
             result_text(graph, node,
                         [](const TensorType& type) { return std::string(info(type.dtype).name); }),
             describe(line), node.where.module_path});
    }
    text += "\nnodes:\n" + table.text("  ", false) + "\noutputs:\n";
    for (const GraphOutput& output : graph.outputs) {
        const std::string note =
            output.mutates.empty() ? "" : fmt::format(" -> buffer {}", output.mutates);
        text +=
            output.value ? value_line(graph[*output.value], note) : std::string("  a constant\n");
    }
    return text;
}

}  // namespace fact::graph
