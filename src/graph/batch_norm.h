// Splits batch norm in training mode into the norm and the update of its running statistics.
#pragma once

#include "graph/graph.h"

namespace fact::graph {

// Every `_native_batch_norm_legit_functional` becomes a norm that uses and returns the batch's
// statistics, and small operators that update the running statistics. Values keep their names.
Graph split_batch_norms(const Graph& graph);

}  // namespace fact::graph
