#include "graph/references.h"

#include <nlohmann/json.hpp>

#include "support/json_fields.h"

namespace fact::graph {

namespace {

void collect_strings(const nlohmann::json& value, std::vector<std::string>& found) {
    if (value.is_string()) found.push_back(value.get<std::string>());
    if (value.is_structured())
        for (const auto& item : value) collect_strings(item, found);
}

}  // namespace

ValueId find_value(const ValueNames& names, const std::string& name) {
    const auto found = names.find(name);
    if (found == names.end()) throw SchemaError("unknown value '" + name + "'");
    return found->second;
}

NameIndex::NameIndex(const Graph& graph) {
    ids_.reserve(graph.values.size());
    for (std::size_t i = 0; i < graph.values.size(); ++i)
        ids_.emplace(graph.values[i].name, static_cast<ValueId>(i));
}

std::vector<ValueId> NameIndex::opaque_references(const Argument& argument) const {
    const auto* opaque = std::get_if<OpaqueArg>(&argument);
    if (opaque == nullptr) return {};
    std::vector<std::string> texts;
    try {
        collect_strings(parse_json(opaque->json), texts);
    } catch (const SchemaError&) {
        return {};  // not JSON: nothing in it can be a reference
    }
    std::vector<ValueId> result;
    for (const std::string& text : texts)
        if (const auto found = ids_.find(text); found != ids_.end())
            result.push_back(found->second);
    return result;
}

}  // namespace fact::graph
