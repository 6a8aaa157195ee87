// A graph as parsed JSON, for texts that hold one among other things.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "graph/graph.h"

namespace fact::graph {

nlohmann::ordered_json graph_to_json(const Graph& graph);
// Throws SchemaError.
Graph graph_from_parsed(const nlohmann::json& written);

}  // namespace fact::graph
