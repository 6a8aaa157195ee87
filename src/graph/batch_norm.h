// Batch norm in training mode, taken apart: what it computes, and what it remembers.
#pragma once

#include "graph/graph.h"

namespace fact::graph {

// Every `_native_batch_norm_legit_functional` becomes the norm by the batch's statistics, which
// also gives them, and small operators that update the running ones. Names of values are kept.
Graph split_batch_norms(const Graph& graph);

}  // namespace fact::graph
