// The graph rewritten to f64, which is the oracle that kernels are compared with.
#pragma once

#include "graph/graph.h"
#include "support/result.h"

namespace fact::verify {

// Metadata asserts are dropped; floating values, casts and factory dtypes become f64; integer and
// boolean operations stay. Floating inputs have to be passed as f64. An Error names a node whose
// meaning depends on the bits of a narrower type.
Result<graph::Graph> f64_rewriting(const graph::Graph& graph);

}  // namespace fact::verify
