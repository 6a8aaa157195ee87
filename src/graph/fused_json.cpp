#include <nlohmann/json.hpp>

#include "graph/fused.h"
#include "graph/graph_json_parts.h"
#include "graph/json_fields.h"

namespace fact::graph {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

ordered_json bindings_to_json(const std::vector<Binding>& bindings) {
    ordered_json result = ordered_json::array();
    for (const Binding& binding : bindings) {
        result.push_back({{"tensor", binding.tensor},
                          {"value", binding.value},
                          {"dims", binding.dims},
                          {"constant", binding.constant}});
        put_half(result.back(), binding.half);
    }
    return result;
}

int to_dim(const json& value) {
    const std::int64_t dim = to_int(value);
    if (dim < 0 || dim > 1000) throw SchemaError("dimension out of range");
    return static_cast<int>(dim);
}

std::vector<Binding> bindings_from_json(const json& list) {
    std::vector<Binding> result;
    for (const json& item : to_array(list)) {
        Binding binding{.tensor = to_text(field(item, "tensor")),
                        .value = to_text(field(item, "value")),
                        .dims = {},
                        .constant = to_bool(field(item, "constant"))};
        for (const json& group : to_array(field(item, "dims"))) {
            binding.dims.emplace_back();
            for (const json& dim : to_array(group)) binding.dims.back().push_back(to_dim(dim));
        }
        binding.half = half_of(item);
        result.push_back(std::move(binding));
    }
    return result;
}

}  // namespace

void put_half(ordered_json& binding, const std::optional<Half>& half) {
    if (!half) return;
    binding["half"] = {{"dim", half->dim}, {"number", half->number}, {"stepped", half->stepped}};
}

std::optional<Half> half_of(const json& binding) {
    const json* written = optional_field(binding, "half");
    if (!written) return std::nullopt;
    const Half half{to_dim(field(*written, "dim")), to_dim(field(*written, "number")),
                    to_bool(field(*written, "stepped"))};
    if (half.number > 1) throw SchemaError("half out of range");
    return half;
}

std::string to_json(const FusedCall& call) {
    ordered_json written{{"id", call.id},
                         {"kernel", call.kernel},
                         {"params", bindings_to_json(call.params)},
                         {"results", bindings_to_json(call.results)},
                         {"original", graph_to_json(call.original)}};
    if (!call.copied.empty()) written["copied"] = call.copied;
    return dump_json(written);
}

Result<FusedCall> fused_call_from_json(std::string_view text) {
    return decoding<FusedCall>("cannot read the fused call", "", [&] {
        const json written = parse_json(text);
        std::vector<std::string> copied;
        if (const json* names = optional_field(written, "copied"))
            for (const json& name : to_array(*names)) copied.push_back(to_text(name));
        return FusedCall{
            .id = to_text(field(written, "id")),
            .kernel = to_text(field(written, "kernel")),
            .params = at("params", [&] { return bindings_from_json(field(written, "params")); }),
            .results = at("results", [&] { return bindings_from_json(field(written, "results")); }),
            .original =
                at("original", [&] { return graph_from_parsed(field(written, "original")); }),
            .copied = std::move(copied)};
    });
}

}  // namespace fact::graph
