// The features of a set of torch's operators: those of a kernel text that computes the same.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "index/features.h"

namespace fact::index {

// `nodes` in execution order.
Features graph_features(const graph::Graph& graph, const std::vector<graph::NodeId>& nodes);

}  // namespace fact::index
