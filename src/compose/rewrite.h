// Replaces parts of a graph by fused calls.
#pragma once

#include <vector>

#include "graph/fused.h"
#include "graph/graph.h"
#include "match/patterns/pattern.h"
#include "support/result.h"

namespace fact::compose {

// The pattern as a call: its bindings, and the part of the graph it replaces.
Result<graph::FusedCall> make_call(const graph::Graph& graph, const match::Pattern& pattern);

// Every pattern becomes one node (see graph::kFusedTarget). Nodes are reordered if a call has to
// wait for an input; values inside a pattern are removed. Refuses overlapping patterns, patterns
// that do not fit the graph, and patterns that depend on each other.
Result<graph::Graph> rewrite(const graph::Graph& graph,
                             const std::vector<const match::Pattern*>& patterns);

}  // namespace fact::compose
