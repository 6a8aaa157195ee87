#include "graph/pt2_program.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "graph/pt2_fields.h"
#include "graph/pt2_provenance.h"
#include "support/json_fields.h"

namespace fact::graph {

using nlohmann::json;

namespace {

constexpr std::int64_t kSchemaMajor = 8;
constexpr std::string_view kExportAgain =
    "export again: torch.export.export(module.eval(), inputs).run_decompositions({})";

class Decoder {
  public:
    explicit Decoder(const json& program) : program_(program) {}

    Graph run() {
        read_versions();
        const json& module = field(program_, "graph_module");
        const json& body = field(module, "graph");
        types_ = &to_object(field(body, "tensor_values"));
        const json& signature = field(module, "signature");
        at("input_specs", [&] { read_inputs(to_array(field(signature, "input_specs"))); });
        for (const json& node : to_array(field(body, "nodes")))
            at(fmt::format("node {}", graph_.nodes.size()), [&] { read_node(node); });
        at("output_specs", [&] { read_outputs(to_array(field(signature, "output_specs"))); });
        if (const json* calls = optional_field(module, "module_call_graph")) read_specs(*calls);
        return std::move(graph_);
    }

  private:
    void read_versions() {
        const json& version = field(program_, "schema_version");
        const std::int64_t major = to_int(field(version, "major"));
        if (major != kSchemaMajor)
            throw SchemaError(
                fmt::format("it is written in schema {}; only {}.x is read, which torch 2.10 "
                            "and later write",
                            major, kSchemaMajor));
        graph_.schema_version = fmt::format("{}.{}", major, to_int(field(version, "minor")));
        if (const json* torch = optional_field(program_, "torch_version"))
            graph_.torch_version = to_text(*torch);
    }

    ValueId define(const std::string& name, std::optional<NodeId> producer) {
        Value value{.name = name, .type = {}, .producer = producer};
        if (const auto meta = types_->find(name); meta != types_->end())
            value.type =
                at(fmt::format("value '{}'", name), [&] { return read_tensor_type(*meta); });
        const ValueId id = graph_.add_value(std::move(value));
        if (!names_.emplace(name, id).second)
            throw SchemaError(fmt::format("value '{}' is defined twice", name));
        return id;
    }

    void read_inputs(const json& specs) {
        for (const json& spec : specs) {
            const auto [kind, content] = read_union(spec);
            if (kind == "parameter")
                add_weight(content, InputKind::parameter, "parameter_name");
            else if (kind == "buffer")
                add_weight(content, InputKind::buffer, "buffer_name");
            else if (kind == "tensor_constant")
                add_weight(content, InputKind::constant, "tensor_constant_name");
            else if (kind == "user_input")
                add_user_input(field(content, "arg"));
            else if (kind == "constant_input")
                graph_.inputs.push_back(
                    {.value = define(to_text(field(content, "name")), std::nullopt),
                     .fqn = {},
                     .fixed = read_argument(field(content, "value"), names_)});
            else
                throw SchemaError(fmt::format("inputs of kind '{}' are not supported", kind));
        }
    }

    void add_weight(const json& spec, InputKind kind, const char* name_field) {
        const std::string& name = to_text(field(field(spec, "arg"), "name"));
        graph_.inputs.push_back({.value = define(name, std::nullopt),
                                 .kind = kind,
                                 .fqn = to_text(field(spec, name_field)),
                                 .fixed = {}});
    }

    void add_user_input(const json& argument) {
        const auto [tag, content] = read_union(argument);
        GraphInput input{.value = {}, .fqn = {}, .fixed = {}};
        if (tag == "as_tensor") {
            input.value = define(to_text(field(content, "name")), std::nullopt);
        } else if (const json* name = symbol_name(tag, content)) {
            input.value = define(to_text(*name), std::nullopt);
        } else {
            input.value = define(fmt::format("input_{}", graph_.inputs.size()), std::nullopt);
            input.fixed = read_argument(argument, names_);
        }
        graph_.inputs.push_back(std::move(input));
    }

    // The name in {"as_sym_int": {"as_name": ...}} and the like; nullptr for anything else.
    static const json* symbol_name(const std::string& tag, const json& content) {
        if (tag != "as_sym_int" && tag != "as_sym_bool" && tag != "as_sym_float") return nullptr;
        return optional_field(content, "as_name");
    }

    void read_node(const json& written) {
        Node node;
        node.target = to_text(field(written, "target"));
        if (constexpr std::string_view kOps = "torch.ops."; node.target.starts_with(kOps))
            node.target.erase(0, kOps.size());
        at(node.target, [&] {
            refuse_in_place(node.target);
            for (const json& input : to_array(field(written, "inputs")))
                node.inputs.push_back(read_input(input));
            if (const json* name = optional_field(written, "name")) node.name = to_text(*name);
            read_node_outputs(to_array(field(written, "outputs")), node);
            if (const json* metadata = optional_field(written, "metadata"))
                node.where = read_provenance(metadata_text(*metadata, "stack_trace"),
                                             metadata_text(*metadata, "nn_module_stack"));
        });
        if (node.name.empty())
            node.name = node.outputs.empty() ? fmt::format("node_{}", graph_.nodes.size())
                                             : graph_[node.outputs[0]].name;
        graph_.nodes.push_back(std::move(node));
    }

    // "aten.add_.Tensor" writes to its argument; "aten.__and__.Tensor" does not.
    static void refuse_in_place(const std::string& target) {
        if (!target.starts_with("aten.")) return;
        const std::string_view name = std::string_view(target).substr(0, target.find('.', 5));
        if (name.ends_with('_') && !name.ends_with("__"))
            throw SchemaError("changes a tensor in place; the graph must be functional");
    }

    NamedArgument read_input(const json& input) {
        NamedArgument argument{.name = to_text(field(input, "name")), .value = {}};
        argument.value = at(fmt::format("argument '{}'", argument.name),
                            [&] { return read_argument(field(input, "arg"), names_); });
        // 2 is torch.export's code for an argument that was passed by keyword.
        if (const json* kind = optional_field(input, "kind")) argument.keyword = to_int(*kind) == 2;
        return argument;
    }

    static std::string metadata_text(const json& metadata, const char* key) {
        const json* text = optional_field(metadata, key);
        return text != nullptr && text->is_string() ? text->get<std::string>() : std::string();
    }

    void read_node_outputs(const json& outputs, Node& node) {
        const auto producer = static_cast<NodeId>(graph_.nodes.size());
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            const auto [tag, content] = read_union(outputs[i]);
            if (tag == "as_tensor") {
                node.outputs.push_back(define(to_text(field(content, "name")), producer));
            } else if (tag == "as_tensors") {
                if (outputs.size() != 1)
                    throw SchemaError("a list of tensors beside other results is not supported");
                node.returns_list = true;
                for (const json& item : to_array(content))
                    node.outputs.push_back(define(to_text(field(item, "name")), producer));
            } else if (const json* name = symbol_name(tag, content)) {
                node.outputs.push_back(define(to_text(*name), producer));
            } else if (tag != "as_none" || outputs.size() > 1) {
                // A result without a name keeps its position among the others.
                node.outputs.push_back(
                    define(fmt::format("node_{}_result_{}", graph_.nodes.size(), i), producer));
            }
        }
    }

    void read_outputs(const json& specs) {
        for (const json& spec : specs) {
            const auto [kind, content] = read_union(spec);
            if (kind == "user_output")
                graph_.outputs.push_back(read_user_output(field(content, "arg")));
            else if (kind == "buffer_mutation")
                add_mutation(content, "buffer_name");
            else if (kind == "parameter_mutation")
                add_mutation(content, "parameter_name");
            else if (kind == "user_input_mutation")
                throw SchemaError(
                    fmt::format("the module changes its input '{}' in place, which is not "
                                "supported: clone it first",
                                to_text(field(content, "user_input_name"))));
            else
                throw SchemaError(fmt::format("outputs of kind '{}' are not supported", kind));
        }
    }

    GraphOutput read_user_output(const json& argument) {
        const auto [tag, content] = read_union(argument);
        if (const json* name = symbol_name(tag, content)) return {lookup(to_text(*name)), {}, {}};
        Argument read = read_argument(argument, names_);
        if (const auto* value = std::get_if<ValueId>(&read)) return {*value, None{}, {}};
        return {std::nullopt, std::move(read), {}};
    }

    void add_mutation(const json& spec, const char* name_field) {
        graph_.outputs.push_back({lookup(to_text(field(field(spec, "arg"), "name"))), None{},
                                  to_text(field(spec, name_field))});
    }

    ValueId lookup(const std::string& name) const { return find_value(names_, name); }

    void read_specs(const json& calls) {
        for (const json& call : to_array(calls)) {
            const json* signature = optional_field(call, "signature");
            // "" is the exported module itself.
            if (signature == nullptr || to_text(field(call, "fqn")) != "") continue;
            graph_.in_spec = to_text(field(*signature, "in_spec"));
            graph_.out_spec = to_text(field(*signature, "out_spec"));
        }
    }

    const json& program_;
    const json* types_ = nullptr;  // of tensors, by the name of the value
    Graph graph_;
    ValueNames names_;
};

}  // namespace

Result<Graph> decode_program(std::string_view text) {
    return decoding<Graph>("cannot read the exported program", std::string(kExportAgain), [&] {
        const json program = parse_json(text);
        return Decoder(program).run();
    });
}

}  // namespace fact::graph
