// A product and the operators around it that one kernel text can say.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "match/axes/anchor.h"
#include "match/axes/layout.h"
#include "match/regions/facts.h"
#include "match/regions/fold.h"

namespace fact::match {

// Of linears that are one product (match/linears/siblings.h): the columns of all, and from which
// on these are linears without anything else.
struct Siblings {
    std::int64_t columns = 0;
    std::optional<std::int64_t> plain_from = {};
};

// Nothing that reads its results is read by it, so it is convex.
struct Region {
    Anchor anchor;                        // its space covers the whole region
    std::vector<graph::NodeId> nodes;     // in execution order
    std::vector<graph::ValueId> outputs;  // the last node's, then statistics that others read
    Placed a, b;
    std::vector<SideUse> sides;
    // A linear of the same input whose result only the region reads: the other half of a gate.
    std::optional<graph::NodeId> second = {};
    std::optional<Fold> fold = {};          // the norm of its rows
    std::optional<Siblings> siblings = {};  // linears of the same input that are computed along
};

// What a product may take along at most. Each end within its reach is a region that is written out,
// so that the time for all goes by the square of this; real epilogues have a few dozen operators.
inline constexpr std::size_t kMaxTaken = 200;

struct Growth {
    Anchor anchor;
    std::vector<graph::NodeId> reach;  // consumers the anchor could absorb, in execution order
    std::map<graph::NodeId, std::string> stops;  // consumers it could not, and why
};

// How far the operators after a product could be computed with it; those of `taken` are not.
Growth grow(const graph::Graph& graph, Facts& facts, Anchor anchor,
            const std::set<graph::NodeId>& taken = {});

// The regions that end within the growth, smallest first: each takes what its last value needs,
// and with `producers` also pointwise operators that only serve its side operands.
std::vector<Region> regions(const graph::Graph& graph, const Facts& facts, Growth& growth,
                            bool producers);

// Looks through permutes that nobody but `nodes` needs, and takes them along: the kernel reads the
// tensor as it lies.
Placed look_through(const graph::Graph& graph, const Facts& facts, std::set<graph::NodeId>& nodes,
                    Placed tensor);

}  // namespace fact::match
