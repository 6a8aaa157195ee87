// A graph as a table for people.
#pragma once

#include <string>

#include "graph/graph.h"

namespace fact::graph {

std::string print(const Graph& graph);

}  // namespace fact::graph
