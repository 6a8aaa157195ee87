// One spelling for graphs that mean the same.
#pragma once

#include "graph/graph.h"

namespace fact::graph {

// Drops metadata asserts, inert dropout, no-op clone, expand, slice, view, permute and casts; makes
// t, transpose and permute all "aten.permute.default" with non-negative dims; makes every dim and
// slice argument non-negative; takes batch norms apart that update running statistics; removes what
// nobody reads. Values keep their names.
Graph canonicalize(const Graph& graph);

}  // namespace fact::graph
