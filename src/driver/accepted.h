// Patterns that an agent found in a run and that were proved there: agent/accepted.json.
#pragma once

#include "driver/run_folder.h"
#include "graph/graph.h"
#include "match/patterns/pattern.h"
#include "support/result.h"

namespace fact::driver {

// Adds the pattern, in place of one of its id; its operators are no longer left alone.
void add_pattern(const match::Pattern& pattern, match::Discovery& discovery);

// Adds those that still fit the graph to what rules found; the module may have changed since.
Result<> add_accepted(const RunFolder& run, const graph::Graph& graph, match::Discovery& discovery);

// Keeps the pattern, in place of an earlier one of its id, and adds it to the discovery.
Result<> accept_pattern(const RunFolder& run, const match::Pattern& pattern,
                        match::Discovery& discovery);

// Forgets the pattern of that id; false where none was accepted.
Result<bool> withdraw_pattern(const RunFolder& run, const std::string& id);

}  // namespace fact::driver
