#include "graph/argument_json.h"

#include <nlohmann/json.hpp>

#include "graph/json_values.h"
#include "support/json_fields.h"
#include "support/result.h"

namespace fact::graph {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

template <class T, class Write>
ordered_json list(const std::vector<T>& items, Write write) {
    ordered_json result = ordered_json::array();
    for (const auto& item : items) result.push_back(write(item));
    return result;
}

DType to_dtype(const json& value) {
    if (const auto dtype = dtype_from_name(to_text(value))) return *dtype;
    throw SchemaError("unknown dtype '" + to_text(value) + "'");
}

}  // namespace

ordered_json argument_to_json(const Graph& graph, const Argument& argument) {
    const auto name = [&](ValueId id) { return ordered_json(graph[id].name); };
    return std::visit(
        overloaded{
            [](const None&) -> ordered_json { return {{"none", true}}; },
            [&](const ValueId& id) -> ordered_json { return {{"value", name(id)}}; },
            [&](const std::vector<ValueId>& ids) -> ordered_json {
                return {{"values", list(ids, name)}};
            },
            [&](const std::vector<std::optional<ValueId>>& ids) -> ordered_json {
                return {{"optional_values", list(ids, [&](const std::optional<ValueId>& id) {
                             return id ? name(*id) : ordered_json();
                         })}};
            },
            [](const bool& value) -> ordered_json { return {{"bool", value}}; },
            [](const std::int64_t& value) -> ordered_json { return {{"int", value}}; },
            [](const double& value) -> ordered_json { return {{"float", from_double(value)}}; },
            [](const std::string& value) -> ordered_json { return {{"string", value}}; },
            [](const std::vector<bool>& value) -> ordered_json { return {{"bools", value}}; },
            [](const std::vector<std::int64_t>& value) -> ordered_json {
                return {{"ints", value}};
            },
            [](const std::vector<double>& value) -> ordered_json {
                return {{"floats", list(value, from_double)}};
            },
            [](const std::vector<std::string>& value) -> ordered_json {
                return {{"strings", value}};
            },
            [](const DTypeArg& value) -> ordered_json {
                return {{"dtype", info(value.dtype).name}};
            },
            [](const MemoryFormatArg& value) -> ordered_json {
                return {{"memory_format", value.code}};
            },
            [](const LayoutArg& value) -> ordered_json { return {{"layout", value.code}}; },
            [](const DeviceArg& value) -> ordered_json { return {{"device", value.text}}; },
            [](const OpaqueArg& value) -> ordered_json {
                return {{"opaque", {{"tag", value.tag}, {"json", value.json}}}};
            },
        },
        argument);
}

Argument argument_from_json(const json& written, const ValueNames& names) {
    if (to_object(written).size() != 1)
        throw SchemaError("an argument must have exactly one member");
    const std::string& kind = written.begin().key();
    const json& body = written.begin().value();
    const auto value = [&](const json& item) { return find_value(names, to_text(item)); };
    if (kind == "none") return None{};
    if (kind == "value") return value(body);
    if (kind == "values") return to_list<ValueId>(body, value);
    if (kind == "optional_values")
        return to_list<std::optional<ValueId>>(body, [&](const json& item) {
            return item.is_null() ? std::nullopt : std::optional(value(item));
        });
    if (kind == "bool") return to_bool(body);
    if (kind == "int") return to_int(body);
    if (kind == "float") return to_double(body);
    if (kind == "string") return to_text(body);
    if (kind == "bools") return to_list<bool>(body, to_bool);
    if (kind == "ints") return to_list<std::int64_t>(body, to_int<>);
    if (kind == "floats") return to_list<double>(body, to_double);
    if (kind == "strings") return to_list<std::string>(body, to_text);
    if (kind == "dtype") return DTypeArg{to_dtype(body)};
    if (kind == "memory_format") return MemoryFormatArg{to_code(body)};
    if (kind == "layout") return LayoutArg{to_code(body)};
    if (kind == "device") return DeviceArg{to_text(body)};
    if (kind == "opaque")
        return OpaqueArg{to_text(field(body, "tag")), to_text(field(body, "json"))};
    throw SchemaError("unknown kind of argument '" + kind + "'");
}

}  // namespace fact::graph
