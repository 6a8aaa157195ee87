// Patterns that an agent proposed in a run and that were proved there: agent/accepted.json.
#pragma once

#include <set>

#include "driver/run_folder.h"
#include "graph/graph.h"
#include "match/patterns/pattern.h"
#include "support/result.h"

namespace fact::driver {

// Adds the pattern, replacing one with the same id; its operators no longer count as left alone.
void add_pattern(const match::Pattern& pattern, match::Discovery& discovery);

// The operators that the discovery accounts for: all of the graph's.
std::set<std::string> operators(const match::Discovery& discovery);

// Removes the pattern with that id; operators that are in no other pattern are left alone again.
void remove_pattern(const std::string& id, const graph::Graph& graph, match::Discovery& discovery);

// Adds the accepted patterns to those found by rules. Skips those that no longer fit the graph: the
// module may have changed since.
Result<> add_accepted(const RunFolder& run, const graph::Graph& graph, match::Discovery& discovery);

// Stores the pattern, replacing an earlier one with the same id, and adds it to the discovery.
Result<> accept_pattern(const RunFolder& run, const match::Pattern& pattern,
                        match::Discovery& discovery);

// Removes the pattern with that id; false if there was none.
Result<bool> withdraw_pattern(const RunFolder& run, const std::string& id);

}  // namespace fact::driver
