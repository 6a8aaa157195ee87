// A graph as one JSON text, as packages store it and stages pass it on.
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"
#include "support/result.h"

namespace fact::graph {

std::string to_json(const Graph& graph);
Result<Graph> graph_from_json(std::string_view text);

}  // namespace fact::graph
