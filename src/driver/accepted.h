// Patterns that an agent found in a run and that were proved there: agent/accepted.json.
#pragma once

#include <vector>

#include "driver/run_folder.h"
#include "graph/graph.h"
#include "match/pattern.h"
#include "support/result.h"

namespace fact::driver {

// Those that still fit the graph; the module may have changed since.
std::vector<match::Pattern> accepted_patterns(const RunFolder& run, const graph::Graph& graph);

// Adds the pattern, or replaces the one of its id.
Result<> accept_pattern(const RunFolder& run, const match::Pattern& pattern);

}  // namespace fact::driver
