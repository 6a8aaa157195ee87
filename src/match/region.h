// A product and the pointwise operators around it that one kernel can compute.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "match/anchor.h"
#include "match/layout.h"

namespace fact::match {

// What growing needs to know of the graph, worked out once.
struct Facts {
    explicit Facts(const graph::Graph& graph);

    std::vector<std::vector<graph::NodeId>> users;
    std::vector<bool> escapes;
    std::vector<bool> constant;             // values that are a weight, or a view of one
    std::set<graph::NodeId> after_product;  // filled by grow: what some product may absorb
};

// Its only value read from outside is `output`, so the region is convex and any two that share no
// node can be fused side by side.
struct Region {
    Anchor anchor;                     // its space covers the whole region
    std::vector<graph::NodeId> nodes;  // in execution order
    graph::ValueId output{};
    Placed a, b;
    std::vector<SideUse> sides;
};

struct Growth {
    Anchor anchor;
    std::vector<graph::NodeId> reach;  // consumers the anchor could absorb, in execution order
    std::map<graph::NodeId, std::string> stops;  // consumers it could not, and why
};

// How far the operators after a product could be computed with it.
Growth grow(const graph::Graph& graph, Facts& facts, Anchor anchor);

// The regions that end within the growth, smallest first: each takes what its last value needs,
// and with `producers` also pointwise operators that only serve its side operands.
std::vector<Region> regions(const graph::Graph& graph, const Facts& facts, Growth& growth,
                            bool producers);

}  // namespace fact::match
