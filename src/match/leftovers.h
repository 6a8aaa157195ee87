// What stays torch's, and why.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "match/patterns/pattern.h"
#include "match/regions/facts.h"

namespace fact::match {

// What discovery has found out about the nodes.
struct Sorted {
    const std::set<graph::NodeId>& taken;   // by a pattern
    const std::set<graph::NodeId>& copied;  // made by patterns for themselves
    const std::map<graph::NodeId, std::string>& reasons;
};

// What no pattern has, each node with the reason.
struct Leftovers {
    std::vector<LeftAlone> work, idle;  // as Discovery's left_alone and idle
};
Leftovers leftovers(const graph::Graph& graph, const Facts& facts, const Sorted& sorted);

}  // namespace fact::match
