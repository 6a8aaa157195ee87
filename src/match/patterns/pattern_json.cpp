#include <nlohmann/json.hpp>

#include "graph/graph_json_parts.h"
#include "graph/json_fields.h"
#include "match/patterns/pattern.h"

namespace fact::match {

using graph::field;
using nlohmann::json;
using nlohmann::ordered_json;

namespace {

ordered_json to_parts(const graph::Provenance& where) {
    return {{"file", where.file},
            {"line", where.line},
            {"code", where.code},
            {"module_path", where.module_path},
            {"module_type", where.module_type}};
}

ordered_json to_parts(const std::vector<graph::Binding>& bindings) {
    ordered_json list = ordered_json::array();
    for (const auto& binding : bindings) {
        list.push_back({{"tensor", binding.tensor},
                        {"value", binding.value},
                        {"dims", binding.dims},
                        {"constant", binding.constant},
                        {"alignment", binding.alignment}});
        graph::put_half(list.back(), binding.half);
    }
    return list;
}

std::string_view major_name(schedule::Major major) {
    return major == schedule::Major::k ? "k" : "mn";
}

ordered_json to_parts(const schedule::Problem& problem) {
    return {{"operands", info(problem.operands).name},
            {"output", info(problem.output).name},
            {"split", problem.split},
            {"a", major_name(problem.a)},
            {"b", major_name(problem.b)},
            {"m", problem.m},
            {"n", problem.n},
            {"k", problem.k},
            {"batch", problem.batch},
            {"full_operands", problem.full_operands}};
}

ordered_json to_parts(const Cost& cost) {
    return {{"flops", cost.flops},
            {"bytes", cost.bytes},
            {"unfused_bytes", cost.unfused_bytes},
            {"hard_us", cost.hard_us},
            {"bound_us", cost.bound_us},
            {"unfused_us", cost.unfused_us},
            {"expected_us", cost.expected_us},
            {"product_flops", cost.product_flops}};
}

std::string text(const json& object, const char* key) {
    return graph::to_text(field(object, key));
}

double number(const json& object, const char* key) {
    return graph::to_double(field(object, key));
}

std::vector<std::string> texts(const json& object, const char* key) {
    std::vector<std::string> list;
    for (const auto& item : graph::to_array(field(object, key)))
        list.push_back(graph::to_text(item));
    return list;
}

graph::Provenance read_where(const json& parts) {
    return {text(parts, "file"), static_cast<int>(graph::to_int(field(parts, "line"))),
            text(parts, "code"), text(parts, "module_path"), text(parts, "module_type")};
}

std::vector<graph::Binding> read_bindings(const json& object, const char* key) {
    std::vector<graph::Binding> list;
    for (const auto& item : graph::to_array(field(object, key))) {
        graph::Binding binding{text(item, "tensor"),
                               text(item, "value"),
                               {},
                               graph::to_bool(field(item, "constant")),
                               static_cast<int>(graph::to_int(field(item, "alignment"))),
                               graph::half_of(item)};
        for (const auto& group : graph::to_array(field(item, "dims"))) {
            auto& dims = binding.dims.emplace_back();
            for (const auto& dim : graph::to_array(group))
                dims.push_back(static_cast<int>(graph::to_int(dim)));
        }
        list.push_back(std::move(binding));
    }
    return list;
}

DType read_dtype(const json& object, const char* key) {
    const std::string name = text(object, key);
    if (const auto dtype = dtype_from_name(name)) return *dtype;
    throw graph::SchemaError(std::string(key) + ": no element type is called " + name);
}

schedule::Major read_major(const json& object, const char* key) {
    const std::string name = text(object, key);
    if (name != "k" && name != "mn") throw graph::SchemaError(std::string(key) + " is k or mn");
    return name == "k" ? schedule::Major::k : schedule::Major::mn;
}

schedule::Problem read_problem(const json& parts) {
    schedule::Problem problem;
    problem.operands = read_dtype(parts, "operands");
    problem.output = read_dtype(parts, "output");
    problem.split = graph::to_bool(field(parts, "split"));
    problem.a = read_major(parts, "a");
    problem.b = read_major(parts, "b");
    problem.m = graph::to_int(field(parts, "m"));
    problem.n = graph::to_int(field(parts, "n"));
    problem.k = graph::to_int(field(parts, "k"));
    problem.batch = graph::to_int(field(parts, "batch"));
    problem.full_operands = static_cast<int>(graph::to_int(field(parts, "full_operands")));
    return problem;
}

Cost read_cost(const json& parts) {
    return {number(parts, "flops"),         number(parts, "bytes"),
            number(parts, "unfused_bytes"), number(parts, "hard_us"),
            number(parts, "bound_us"),      number(parts, "unfused_us"),
            number(parts, "expected_us"),   number(parts, "product_flops")};
}

Author read_author(const json& object, const char* key) {
    const std::string wanted = text(object, key);
    for (const Author author : {Author::rules, Author::agent, Author::learned})
        if (name(author) == wanted) return author;
    throw graph::SchemaError(std::string(key) + ": no author is called " + wanted);
}

Pattern read_pattern(const json& parts) {
    Pattern pattern;
    pattern.id = text(parts, "id");
    pattern.rule = text(parts, "rule");
    pattern.author = read_author(parts, "author");
    pattern.convolution = graph::to_bool(field(parts, "convolution"));
    pattern.family = text(parts, "family");
    pattern.nodes = texts(parts, "nodes");
    if (graph::optional_field(parts, "copied")) pattern.copied = texts(parts, "copied");
    pattern.inputs = texts(parts, "inputs");
    pattern.outputs = texts(parts, "outputs");
    pattern.kernel = text(parts, "kernel");
    pattern.params = read_bindings(parts, "params");
    pattern.results = read_bindings(parts, "results");
    for (const auto& [name, extent] : field(parts, "extents").items())
        pattern.extents[name] = graph::to_int(extent);
    pattern.problem = read_problem(field(parts, "problem"));
    pattern.cost = read_cost(field(parts, "cost"));
    pattern.priority = number(parts, "priority");
    pattern.where = read_where(field(parts, "where"));
    return pattern;
}

ordered_json to_parts(const std::vector<LeftAlone>& nodes) {
    ordered_json parts = ordered_json::array();
    for (const auto& left : nodes)
        parts.push_back({{"node", left.node},
                         {"target", left.target},
                         {"reason", left.reason},
                         {"where", to_parts(left.where)}});
    return parts;
}

std::vector<LeftAlone> read_left(const json& parts) {
    std::vector<LeftAlone> nodes;
    for (const auto& item : graph::to_array(parts))
        nodes.push_back({text(item, "node"), text(item, "target"), text(item, "reason"),
                         read_where(field(item, "where"))});
    return nodes;
}

}  // namespace

std::string_view name(Author author) {
    switch (author) {
        case Author::rules:
            return "rules";
        case Author::agent:
            return "agent";
        case Author::learned:
            return "learned";
    }
    throw InternalError("name: no such author");
}

std::string to_json(const Discovery& discovery) {
    ordered_json patterns = ordered_json::array();
    for (const auto& pattern : discovery.patterns)
        patterns.push_back({{"id", pattern.id},
                            {"rule", pattern.rule},
                            {"author", name(pattern.author)},
                            {"convolution", pattern.convolution},
                            {"family", pattern.family},
                            {"nodes", pattern.nodes},
                            {"copied", pattern.copied},
                            {"inputs", pattern.inputs},
                            {"outputs", pattern.outputs},
                            {"kernel", pattern.kernel},
                            {"params", to_parts(pattern.params)},
                            {"results", to_parts(pattern.results)},
                            {"extents", pattern.extents},
                            {"problem", to_parts(pattern.problem)},
                            {"cost", to_parts(pattern.cost)},
                            {"priority", pattern.priority},
                            {"where", to_parts(pattern.where)}});
    return graph::dump_json({{"patterns", patterns},
                             {"left_alone", to_parts(discovery.left_alone)},
                             {"idle", to_parts(discovery.idle)}});
}

Result<Discovery> discovery_from_json(std::string_view text) {
    return graph::decoding<Discovery>(
        "cannot read the discovery", "Run `fact discover` again.", [&] {
            const json parts = graph::parse_json(text);
            Discovery discovery;
            for (const auto& item : graph::to_array(field(parts, "patterns")))
                discovery.patterns.push_back(
                    graph::at("patterns", [&] { return read_pattern(item); }));
            discovery.left_alone = read_left(field(parts, "left_alone"));
            discovery.idle = read_left(field(parts, "idle"));
            return discovery;
        });
}

}  // namespace fact::match
