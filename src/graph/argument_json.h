// Arguments as JSON: one member, named after the kind; values by name.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "graph/graph.h"
#include "graph/references.h"

namespace fact::graph {

nlohmann::ordered_json argument_to_json(const Graph& graph, const Argument& argument);
// Throws SchemaError.
Argument argument_from_json(const nlohmann::json& written, const ValueNames& names);

}  // namespace fact::graph
