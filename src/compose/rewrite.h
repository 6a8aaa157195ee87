// A graph with some of its parts replaced by fused calls.
#pragma once

#include <vector>

#include "graph/fused.h"
#include "graph/graph.h"
#include "match/patterns/pattern.h"
#include "support/result.h"

namespace fact::compose {

// The pattern as a call: its bindings, and the part of the graph it replaces.
Result<graph::FusedCall> make_call(const graph::Graph& graph, const match::Pattern& pattern);

// Every pattern becomes one node (see graph::kFusedTarget); nodes are reordered where a call has
// to wait for something, values inside a pattern go. Refuses overlapping patterns, patterns that
// do not fit the graph, and sets of patterns that wait for each other.
Result<graph::Graph> rewrite(const graph::Graph& graph,
                             const std::vector<const match::Pattern*>& patterns);

}  // namespace fact::compose
