// Brings the arguments of a node into one form.
#pragma once

#include "graph/graph.h"

namespace fact::graph {

// Makes t, transpose and the like "aten.permute.default", type_as a plain cast, cat of a single
// nonempty tensor a clone, zeros_like and the like a plain full, and aliases (multiply, __and__)
// the plain operators; makes dims, slice bounds and select indices non-negative and explicit;
// replaces the -1 of view and expand by the extent it means; lets operators that broadcast read
// what was expanded for them. Leaves alone what depends on extents known only at run time.
void normalize_arguments(const Graph& graph, Node& node);

}  // namespace fact::graph
