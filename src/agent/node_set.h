// A set of operators that one kernel could compute, chosen by whoever drives: what goes in, what
// comes out.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "support/result.h"

namespace fact::agent {

struct NodeSet {
    std::vector<graph::NodeId> nodes;             // in execution order
    std::vector<graph::ValueId> inputs, outputs;  // read from outside; read outside, or returned
};

// The operators of these names. An Error says which name is not there, or what lies between them
// and which set would do.
Result<NodeSet> node_set(const graph::Graph& graph, const std::vector<std::string>& names);

}  // namespace fact::agent
