#include "package/classes.h"

#include <nlohmann/json.hpp>
#include <set>

#include "support/json_fields.h"

namespace fact::package {

namespace {

using nlohmann::json;

void collect(const json& spec, std::set<std::string>& found) {
    const auto* type = optional_field(spec, "type");
    if (!type) return;  // a leaf
    const auto& name = to_text(*type);
    if (name == "collections.namedtuple")
        found.insert(to_text(field(spec, "context")));
    else if (!name.starts_with("builtins.") && !name.starts_with("collections."))
        found.insert(name);
    for (const json& child : to_array(field(spec, "children_spec"))) collect(child, found);
}

}  // namespace

std::vector<std::string> classes_of(const std::vector<std::string_view>& specs) {
    std::set<std::string> found;
    for (const auto text : specs) {
        try {
            const json spec = parse_json(text);
            if (spec.is_array() && spec.size() == 2) collect(spec[1], found);
        } catch (const SchemaError&) {  // not a description
        }
    }
    return {found.begin(), found.end()};
}

}  // namespace fact::package
