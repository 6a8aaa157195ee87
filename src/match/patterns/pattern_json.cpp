// The JSON form of a discovery, and the names of authors; declared in pattern.h.
#include <nlohmann/json.hpp>

#include "graph/graph_json_parts.h"
#include "match/patterns/pattern.h"
#include "support/json_fields.h"

namespace fact::match {

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

double number(const json& object, const char* key) {
    return to_double(field(object, key));
}

graph::Provenance read_where(const json& parts) {
    return {get_text(parts, "file"), get_int<int>(parts, "line"), get_text(parts, "code"),
            get_text(parts, "module_path"), get_text(parts, "module_type")};
}

std::vector<graph::Binding> read_bindings(const json& object, const char* key) {
    std::vector<graph::Binding> list;
    for (const auto& item : to_array(field(object, key))) {
        graph::Binding binding{
            get_text(item, "tensor"),   get_text(item, "value"),         {},
            get_bool(item, "constant"), get_int<int>(item, "alignment"), graph::half_of(item)};
        for (const auto& group : to_array(field(item, "dims"))) {
            auto& dims = binding.dims.emplace_back();
            for (const auto& dim : to_array(group)) dims.push_back(to_int<int>(dim));
        }
        list.push_back(std::move(binding));
    }
    return list;
}

DType read_dtype(const json& object, const char* key) {
    const std::string name = get_text(object, key);
    if (const auto dtype = dtype_from_name(name)) return *dtype;
    throw SchemaError(std::string(key) + ": no element type is called " + name);
}

schedule::Major read_major(const json& object, const char* key) {
    const std::string name = get_text(object, key);
    if (name != "k" && name != "mn") throw SchemaError(std::string(key) + " must be k or mn");
    return name == "k" ? schedule::Major::k : schedule::Major::mn;
}

schedule::Problem read_problem(const json& parts) {
    schedule::Problem problem;
    problem.operands = read_dtype(parts, "operands");
    problem.output = read_dtype(parts, "output");
    problem.split = get_bool(parts, "split");
    problem.a = read_major(parts, "a");
    problem.b = read_major(parts, "b");
    problem.m = get_int(parts, "m");
    problem.n = get_int(parts, "n");
    problem.k = get_int(parts, "k");
    problem.batch = get_int(parts, "batch");
    problem.full_operands = get_int<int>(parts, "full_operands");
    return problem;
}

Cost read_cost(const json& parts) {
    return {number(parts, "flops"),         number(parts, "bytes"),
            number(parts, "unfused_bytes"), number(parts, "hard_us"),
            number(parts, "bound_us"),      number(parts, "unfused_us"),
            number(parts, "expected_us"),   number(parts, "product_flops")};
}

Author read_author(const json& object, const char* key) {
    const std::string author_name = get_text(object, key);
    for (const Author author : {Author::rules, Author::agent, Author::learned})
        if (name(author) == author_name) return author;
    throw SchemaError(std::string(key) + ": no author is called " + author_name);
}

Pattern read_pattern(const json& parts) {
    Pattern pattern;
    pattern.id = get_text(parts, "id");
    pattern.rule = get_text(parts, "rule");
    pattern.author = read_author(parts, "author");
    pattern.convolution = get_bool(parts, "convolution");
    pattern.family = get_text(parts, "family");
    pattern.nodes = get_texts(parts, "nodes");
    if (optional_field(parts, "copied")) pattern.copied = get_texts(parts, "copied");
    pattern.inputs = get_texts(parts, "inputs");
    pattern.outputs = get_texts(parts, "outputs");
    pattern.kernel = get_text(parts, "kernel");
    pattern.params = read_bindings(parts, "params");
    pattern.results = read_bindings(parts, "results");
    for (const auto& [name, extent] : field(parts, "extents").items())
        pattern.extents[name] = to_int(extent);
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
    for (const auto& item : to_array(parts))
        nodes.push_back({get_text(item, "node"), get_text(item, "target"), get_text(item, "reason"),
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
    return dump_json({{"patterns", patterns},
                      {"left_alone", to_parts(discovery.left_alone)},
                      {"idle", to_parts(discovery.idle)}});
}

Result<Discovery> discovery_from_json(std::string_view text) {
    return decoding<Discovery>("cannot read the discovery", "Run `fact discover` again.", [&] {
        const json parts = parse_json(text);
        Discovery discovery;
        for (const auto& item : to_array(field(parts, "patterns")))
            discovery.patterns.push_back(at("patterns", [&] { return read_pattern(item); }));
        discovery.left_alone = read_left(field(parts, "left_alone"));
        discovery.idle = read_left(field(parts, "idle"));
        return discovery;
    });
}

}  // namespace fact::match
