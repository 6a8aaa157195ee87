// Splits batch norm in training mode into what it computes and what it remembers.
#pragma once

#include "graph/graph.h"

namespace fact::graph {

// Every `_native_batch_norm_legit_functional` becomes a norm by the batch's statistics, which also
// returns them, and small operators that update the running statistics. Values keep their names.
Graph split_batch_norms(const Graph& graph);

}  // namespace fact::graph
