// What is asked of a graph again and again, worked out once.
#pragma once

#include <set>
#include <vector>

#include "graph/graph.h"

namespace fact::match {

struct Facts {
    explicit Facts(const graph::Graph& graph);

    std::vector<std::vector<graph::NodeId>> users;
    std::vector<bool> escapes;
    std::vector<bool> constant;             // values that are a weight, or a view of one
    std::set<graph::NodeId> after_product;  // filled by grow: what some product may absorb
};

// Whether nobody but these nodes reads the value.
bool only_used_in(const Facts& facts, graph::ValueId value, const std::set<graph::NodeId>& nodes);
// The nodes beside these that do.
std::vector<graph::NodeId> used_outside(const Facts& facts, graph::ValueId value,
                                        const std::set<graph::NodeId>& nodes);
// Whether something that comes of the nodes of `outside` is read by `nodes` again.
bool comes_back(const graph::Graph& graph, const Facts& facts, const std::set<graph::NodeId>& nodes,
                std::vector<graph::NodeId> outside);

}  // namespace fact::match
