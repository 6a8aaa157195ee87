// The operators that compute only what a region reads beside its product.
#pragma once

#include <set>

#include "match/regions/region.h"

namespace fact::match {

// Adds producers of side operands that nothing else reads: pointwise ones, such as the comparison
// that makes a mask, perhaps seen through views, and a second linear of the same input.
void take_producers(const graph::Graph& graph, const Facts& facts, Region& region,
                    std::set<graph::NodeId>& nodes);

}  // namespace fact::match
