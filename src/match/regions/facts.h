// Properties of a graph that are needed often, computed once.
#pragma once

#include <set>
#include <vector>

#include "graph/graph.h"

namespace fact::match {

struct Facts {
    explicit Facts(const graph::Graph& graph);

    // For each value:
    std::vector<std::vector<graph::NodeId>> users;
    std::vector<bool> escapes;   // it is a result of the module
    std::vector<bool> constant;  // it is a weight or unchanging buffer, or a view of one

    std::vector<bool> once;           // for each node: graph::constant_nodes()
    std::set<graph::NodeId> updates;  // whose results are needed only to update buffers

    std::set<graph::NodeId> after_product;  // nodes that some product may absorb; grow() adds them
};

// Whether only `nodes` read the value, and it is not a result of the module.
bool only_used_in(const Facts& facts, graph::ValueId value, const std::set<graph::NodeId>& nodes);
// The nodes outside `nodes` that read the value.
std::vector<graph::NodeId> used_outside(const Facts& facts, graph::ValueId value,
                                        const std::set<graph::NodeId>& nodes);
// Whether `nodes` read anything that is computed from results of the nodes of `outside`.
bool feeds_back(const graph::Graph& graph, const Facts& facts, const std::set<graph::NodeId>& nodes,
                std::vector<graph::NodeId> outside);

// The number of elements.
std::int64_t count(const graph::TensorType& type);

}  // namespace fact::match
