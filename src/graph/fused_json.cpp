// to_json and fused_call_from_json of graph/fused.h; put_half and half_of of graph_json_parts.h.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "graph/fused.h"
#include "graph/graph_json_parts.h"
#include "support/json_fields.h"

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
    if (dim < 0 || dim > 1000) throw SchemaError(fmt::format("there is no dimension {}", dim));
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

// nullptr if the call has no such value, which is reported when the call is run.
const TensorType* type_of(const FusedCall& call, const Binding& binding) {
    for (const Value& value : call.original.values)
        if (value.name == binding.value) return value.type ? &*value.type : nullptr;
    return nullptr;
}

void check_dims(const FusedCall& call, const Binding& binding) {
    const TensorType* type = type_of(call, binding);
    std::set<int> bound;
    for (const auto& group : binding.dims)
        for (const int dim : group) {
            if (type && static_cast<std::size_t>(dim) >= type->sizes.size())
                throw SchemaError(fmt::format("{} has no dimension {}", binding.value, dim));
            if (!bound.insert(dim).second)
                throw SchemaError(
                    fmt::format("dimension {} of {} is bound twice", dim, binding.value));
        }
}

// Elements per row of a result; 0 if it has no rows, or if they overflow.
std::int64_t row_length(const Binding& binding, const TensorType* type) {
    if (!type || binding.dims.empty()) return 0;
    std::int64_t length = 1;
    for (const int dim : binding.dims.back())
        if (__builtin_mul_overflow(length, type->sizes[static_cast<std::size_t>(dim)], &length))
            return 0;
    return length;
}

// Results that share an output are laid side by side in its rows (fused.cpp): checks that a row's
// length is known and that strides computed from it do not overflow.
void check_side_by_side(const FusedCall& call) {
    for (const Binding& binding : call.results) {
        std::int64_t parts = 0, row = 0, length = 0;
        bool overflow = false;
        for (const Binding& part : call.results) {
            if (part.tensor != binding.tensor) continue;
            const TensorType* type = type_of(call, part);
            const std::int64_t own = row_length(part, type);
            overflow |=
                own <= 0 || __builtin_add_overflow(row, own, &row) ||
                __builtin_add_overflow(length, storage_length(type->sizes, type->strides), &length);
            ++parts;
        }
        if (parts < 2) continue;
        std::int64_t reach = 0;
        if (!overflow)
            for (const std::int64_t stride : type_of(call, binding)->strides)
                overflow |= __builtin_mul_overflow(stride, row, &reach);
        if (overflow)
            throw SchemaError(
                fmt::format("the parts of {} cannot be placed side by side: the length of a row is "
                            "unknown or too large",
                            binding.tensor));
    }
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
    if (half.number > 1) throw SchemaError("the number of a half is 0 or 1");
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
        FusedCall call{
            .id = to_text(field(written, "id")),
            .kernel = to_text(field(written, "kernel")),
            .params = at("params", [&] { return bindings_from_json(field(written, "params")); }),
            .results = at("results", [&] { return bindings_from_json(field(written, "results")); }),
            .original =
                at("original", [&] { return graph_from_parsed(field(written, "original")); }),
            .copied = std::move(copied)};
        for (const auto* bindings : {&call.params, &call.results})
            for (const Binding& binding : *bindings) check_dims(call, binding);
        check_side_by_side(call);
        return call;
    });
}

}  // namespace fact::graph
