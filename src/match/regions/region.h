// A product and the operators around it that one kernel text can compute.
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

// Several linears that are computed as one product (match/linears/siblings.h).
struct Siblings {
    std::int64_t columns = 0;  // of all linears together
    // Columns from here on belong to linears that nothing follows.
    std::optional<std::int64_t> plain_from = {};
};

// A region is convex: it reads nothing that is computed from its own results.
struct Region {
    Anchor anchor;                        // its space covers the whole region
    std::vector<graph::NodeId> nodes;     // in execution order
    std::vector<graph::ValueId> outputs;  // the last node's, then others that are read outside
    // The operands, each as it is before permutes that only the region uses.
    PlacedTensor a, b;
    std::vector<SideUse> sides;
    // A second linear of the same input, whose result only the region reads: the other half of a
    // gate.
    std::optional<graph::NodeId> second = {};
    std::optional<Fold> fold = {};  // the norm that is folded into the product
    std::optional<Siblings> siblings = {};
};

// The most operators that a product absorbs. A kernel text is written for every operator that a
// region may end in, so the time is quadratic in this; real epilogues have a few dozen operators.
inline constexpr std::size_t kMaxTaken = 200;

struct Growth {
    Anchor anchor;
    std::vector<graph::NodeId> reach;  // consumers the anchor can absorb, in execution order
    std::map<graph::NodeId, std::string> stops;  // consumers it cannot absorb, and why
};

// Finds the operators after a product that can be computed with it, `most` of them; leaves out
// those of `taken`.
Growth grow(const graph::Graph& graph, Facts& facts, Anchor anchor,
            const std::set<graph::NodeId>& taken = {}, std::size_t most = kMaxTaken);

// What a region takes along besides its last operator and what that needs: `producers`, pointwise
// operators that compute only its side operands, or `all`, also updates of buffers (running
// statistics) from what it computes.
enum class Extras { none, producers, all };

// One region for each operator within reach that may be the last one, smallest first. Without a
// product, values that others read are results too, and one more region contains all that is within
// reach. Adds to growth.stops why an operator cannot be the last one.
std::vector<Region> regions(const graph::Graph& graph, const Facts& facts, Growth& growth,
                            Extras extras);

// The regions with all extras, then those that are others without updates: where a text with an
// update cannot be written, or is slow.
std::vector<Region> regions_with_and_without_updates(const graph::Graph& graph, const Facts& facts,
                                                     Growth& growth);

// Whether one of the region's operators works along rows (match/operators/rowwise.h).
bool has_rowwise(const graph::Graph& graph, const Region& region);

// The tensor before all permutes that only `nodes` use; adds those permutes to `nodes`.
PlacedTensor before_permutes(const graph::Graph& graph, const Facts& facts,
                             std::set<graph::NodeId>& nodes, PlacedTensor tensor);

}  // namespace fact::match
