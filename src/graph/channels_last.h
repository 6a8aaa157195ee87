// Images between convolutions stay channels last in memory, as kernels of convolutions read them.
#pragma once

#include "graph/graph.h"

namespace fact::graph {

// The same graph, computed as if the user had asked torch for channels last where that saves bytes:
// each set of values that convolutions and operators which keep the layout connect is either
// rewritten as a whole or left as it is. What enters it is copied to channels last, what leaves it
// (results of the graph too) back to the layout it had. To be applied to a canonical graph.
Graph keep_channels_last(const Graph& graph);

// Whether the node only copies a tensor to another layout in memory.
bool changes_layout(const Graph& graph, const Node& node);

}  // namespace fact::graph
