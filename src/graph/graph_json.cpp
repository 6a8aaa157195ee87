#include "graph/graph_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "graph/argument_json.h"
#include "graph/graph_json_parts.h"
#include "graph/pt2_fields.h"
#include "support/enum_table.h"
#include "support/json_fields.h"

namespace fact::graph {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

constexpr int kFormat = 1;
struct InputKindName {
    InputKind kind;
    std::string_view name;
};
constexpr auto kInputKinds =
    table_of<InputKind>([](InputKind kind) -> std::optional<InputKindName> {
        switch (kind) {
            case InputKind::user:
                return InputKindName{kind, "user"};
            case InputKind::parameter:
                return InputKindName{kind, "parameter"};
            case InputKind::buffer:
                return InputKindName{kind, "buffer"};
            case InputKind::constant:
                return InputKindName{kind, "constant"};
        }
        return std::nullopt;
    });

ordered_json type_to_json(const TensorType& type) {
    ordered_json result{{"dtype", info(type.dtype).name},
                        {"sizes", type.sizes},
                        {"strides", type.strides},
                        {"offset", type.offset},
                        {"device", type.device}};
    if (type.dynamic) result["dynamic"] = true;
    return result;
}

std::vector<std::int64_t> to_ints(const json& list) {
    std::vector<std::int64_t> result;
    for (const json& item : to_array(list)) result.push_back(to_int(item));
    return result;
}

bool flag(const json& object, const char* key) {
    const json* found = optional_field(object, key);
    return found != nullptr && to_bool(*found);
}

std::string text_or_empty(const json& object, const char* key) {
    const json* found = optional_field(object, key);
    return found == nullptr ? std::string() : to_text(*found);
}

TensorType type_from_json(const json& value) {
    const auto dtype = dtype_from_name(to_text(field(value, "dtype")));
    if (!dtype) throw SchemaError("unknown dtype '" + to_text(field(value, "dtype")) + "'");
    TensorType type{.dtype = *dtype,
                    .sizes = to_ints(field(value, "sizes")),
                    .strides = to_ints(field(value, "strides")),
                    .offset = to_int(field(value, "offset")),
                    .dynamic = flag(value, "dynamic"),
                    .device = to_text(field(value, "device"))};
    check_type(type);
    return type;
}

ordered_json where_to_json(const Provenance& where) {
    return {{"file", where.file},
            {"line", where.line},
            {"code", where.code},
            {"module", where.module_path},
            {"type", where.module_type}};
}

Provenance where_from_json(const json& value) {
    return {.file = to_text(field(value, "file")),
            .line = static_cast<int>(to_int(field(value, "line"))),
            .code = to_text(field(value, "code")),
            .module_path = to_text(field(value, "module")),
            .module_type = to_text(field(value, "type"))};
}

ordered_json node_to_json(const Graph& graph, const Node& node) {
    ordered_json result{{"name", node.name}, {"target", node.target}};
    result["inputs"] = ordered_json::array();
    for (const NamedArgument& input : node.inputs) {
        ordered_json argument{{"name", input.name}};
        argument["value"] = argument_to_json(graph, input.value);
        if (input.keyword) argument["keyword"] = true;
        result["inputs"].push_back(std::move(argument));
    }
    result["outputs"] = ordered_json::array();
    for (const ValueId id : node.outputs) result["outputs"].push_back(graph[id].name);
    if (node.returns_list) result["returns_list"] = true;
    if (node.where != Provenance{}) result["where"] = where_to_json(node.where);
    return result;
}

class Reader {
  public:
    explicit Reader(const json& written) : written_(written) {}

    Graph run() {
        if (const auto format = to_int(field(written_, "format")); format != kFormat)
            throw SchemaError(fmt::format("written by another version of FACT (format {}, not {})",
                                          format, kFormat));
        graph_.torch_version = text_or_empty(written_, "torch_version");
        graph_.schema_version = text_or_empty(written_, "schema_version");
        graph_.in_spec = text_or_empty(written_, "in_spec");
        graph_.out_spec = text_or_empty(written_, "out_spec");
        for (const json& value : to_array(field(written_, "values"))) read_value(value);
        for (const json& input : to_array(field(written_, "inputs"))) read_input(input);
        for (const json& node : to_array(field(written_, "nodes")))
            at(fmt::format("node {}", graph_.nodes.size()), [&] { read_node(node); });
        for (const json& output : to_array(field(written_, "outputs"))) read_output(output);
        if (const std::string problem = verify(graph_); !problem.empty())
            throw SchemaError(problem);
        return std::move(graph_);
    }

  private:
    void read_value(const json& value) {
        const std::string& name = to_text(field(value, "name"));
        Value read{.name = name, .type = {}, .producer = {}};
        if (const json* type = optional_field(value, "type"))
            read.type = at(name, [&] { return type_from_json(*type); });
        names_.emplace(name, graph_.add_value(std::move(read)));
    }

    ValueId lookup(const json& name) const { return find_value(names_, to_text(name)); }

    void read_input(const json& value) {
        GraphInput input{.value = lookup(field(value, "value")), .fqn = {}, .fixed = {}};
        const std::string& kind = to_text(field(value, "kind"));
        const auto* row = std::ranges::find(kInputKinds, kind, &InputKindName::name);
        if (row == kInputKinds.end()) throw SchemaError("unknown kind of input '" + kind + "'");
        input.kind = row->kind;
        input.fqn = text_or_empty(value, "fqn");
        if (const json* fixed = optional_field(value, "fixed"))
            input.fixed = argument_from_json(*fixed, names_);
        graph_.inputs.push_back(std::move(input));
    }

    void read_node(const json& value) {
        Node node{.target = to_text(field(value, "target")),
                  .inputs = {},
                  .outputs = {},
                  .returns_list = flag(value, "returns_list"),
                  .where = {},
                  .name = to_text(field(value, "name"))};
        for (const json& input : to_array(field(value, "inputs")))
            node.inputs.push_back({to_text(field(input, "name")),
                                   argument_from_json(field(input, "value"), names_),
                                   flag(input, "keyword")});
        for (const json& output : to_array(field(value, "outputs"))) {
            node.outputs.push_back(lookup(output));
            graph_[node.outputs.back()].producer = static_cast<NodeId>(graph_.nodes.size());
        }
        if (const json* where = optional_field(value, "where"))
            node.where = where_from_json(*where);
        graph_.nodes.push_back(std::move(node));
    }

    void read_output(const json& value) {
        GraphOutput output{
            .value = {}, .fixed = None{}, .mutates = text_or_empty(value, "mutates")};
        if (const json* name = optional_field(value, "value"))
            output.value = lookup(*name);
        else
            output.fixed = argument_from_json(field(value, "fixed"), names_);
        graph_.outputs.push_back(std::move(output));
    }

    const json& written_;
    Graph graph_;
    ValueNames names_;
};

}  // namespace

ordered_json graph_to_json(const Graph& graph) {
    ordered_json inputs = ordered_json::array(), outputs = ordered_json::array(),
                 values = ordered_json::array(), nodes = ordered_json::array();
    for (const GraphInput& input : graph.inputs) {
        const auto kind = static_cast<std::size_t>(input.kind);
        ordered_json item{{"value", graph[input.value].name}, {"kind", kInputKinds[kind].name}};
        if (!input.fqn.empty()) item["fqn"] = input.fqn;
        if (input.fixed) item["fixed"] = argument_to_json(graph, *input.fixed);
        inputs.push_back(std::move(item));
    }
    for (const GraphOutput& output : graph.outputs) {
        ordered_json item;
        if (output.value)
            item["value"] = graph[*output.value].name;
        else
            item["fixed"] = argument_to_json(graph, output.fixed);
        if (!output.mutates.empty()) item["mutates"] = output.mutates;
        outputs.push_back(std::move(item));
    }
    for (const Value& value : graph.values) {
        ordered_json item{{"name", value.name}};
        if (value.type) item["type"] = type_to_json(*value.type);
        values.push_back(std::move(item));
    }
    for (const Node& node : graph.nodes) nodes.push_back(node_to_json(graph, node));
    return {{"format", kFormat},
            {"torch_version", graph.torch_version},
            {"schema_version", graph.schema_version},
            {"in_spec", graph.in_spec},
            {"out_spec", graph.out_spec},
            {"inputs", std::move(inputs)},
            {"outputs", std::move(outputs)},
            {"nodes", std::move(nodes)},
            {"values", std::move(values)}};
}

Graph graph_from_parsed(const json& written) {
    return Reader(written).run();
}

std::string to_json(const Graph& graph) {
    return dump_json(graph_to_json(graph));
}

Result<Graph> graph_from_json(std::string_view text) {
    return decoding<Graph>("cannot read the graph", "", [&] {
        const json written = parse_json(text);
        return graph_from_parsed(written);
    });
}

}  // namespace fact::graph
