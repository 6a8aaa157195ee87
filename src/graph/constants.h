// What a module computes from its weights alone.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace fact::graph {

// For each node, whether its results are the same in every call until a weight changes, so that
// they can be kept: operators of torch on weights, buffers that no call changes, and results of
// such nodes. Left out are views of weights that others read too, which cost nothing, random and
// uninitialised numbers, results that are much larger than what they are computed from, and what
// the caller is given.
std::vector<bool> constant_nodes(const Graph& graph);

}  // namespace fact::graph
