// A set of operators that one kernel could compute, chosen by a model or a person, with its inputs
// and outputs.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "support/result.h"

namespace fact::agent {

struct NodeSet {
    std::vector<graph::NodeId> nodes;     // in execution order
    std::vector<graph::ValueId> inputs;   // computed outside, read inside
    std::vector<graph::ValueId> outputs;  // computed inside, read outside or returned
};

// The operators with these names. An Error says which name does not exist, or which operators lie
// between them, and suggests a set that would work.
Result<NodeSet> node_set(const graph::Graph& graph, const std::vector<std::string>& names);

}  // namespace fact::agent
