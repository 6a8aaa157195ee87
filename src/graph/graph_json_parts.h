// A graph as parsed JSON, for texts that contain a graph among other things.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "graph/graph.h"
#include "graph/halves.h"

namespace fact::graph {

nlohmann::ordered_json graph_to_json(const Graph& graph);
// Throws SchemaError.
Graph graph_from_parsed(const nlohmann::json& written);

// Writes the member "half" of a tensor's binding, if there is a half.
void put_half(nlohmann::ordered_json& binding, const std::optional<Half>& half);
// Throws SchemaError.
std::optional<Half> half_of(const nlohmann::json& binding);

}  // namespace fact::graph
