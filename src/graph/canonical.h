// The canonical form: graphs that mean the same get the same form.
#pragma once

#include "graph/graph.h"

namespace fact::graph {

// Drops metadata asserts, inert dropout, no-op clone, expand, slice, view, permute, casts and
// broadcasts; makes
// t, transpose and permute all "aten.permute.default" with non-negative dims; makes every dim and
// slice argument non-negative; splits batch norms that update running statistics, and einsums into
// steps of two operands; removes nodes whose results are never read. Values keep their names.
Graph canonicalize(const Graph& graph);

}  // namespace fact::graph
