// Which operators are left to torch, and why.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "match/patterns/pattern.h"
#include "match/regions/facts.h"

namespace fact::match {

// What the search for patterns found out about the nodes.
struct SearchOutcome {
    const std::set<graph::NodeId>& taken;                 // nodes of chosen patterns
    const std::set<graph::NodeId>& copied;                // Pattern::copied of chosen patterns
    const std::map<graph::NodeId, std::string>& reasons;  // why a node is left to torch
};

// The nodes that no pattern contains, each with the reason.
struct Leftovers {
    std::vector<LeftAlone> work, idle;  // become Discovery::left_alone and Discovery::idle
};
Leftovers leftovers(const graph::Graph& graph, const Facts& facts, const SearchOutcome& outcome);

}  // namespace fact::match
