// Finds a norm that can be folded into a product, and adds it to the product's region.
#pragma once

#include <optional>
#include <vector>

#include "match/regions/fold.h"
#include "match/regions/region.h"

namespace fact::match {

// The norm whose result is the product's first operand, if its rows are 16-bit and as long as the
// dimension that the product sums over, and its vectors are constants of the same type. In f16 only
// a norm without a gain.
std::optional<Fold> read_fold(const graph::Graph& graph, const Facts& facts, const Anchor& anchor);

// Adds the norm to the region. False if a node outside the region and `other_readers` reads the
// norm, or if a weight is not constant.
bool fold_into(const graph::Graph& graph, const Facts& facts, const Fold& fold, Region& region,
               const std::vector<graph::NodeId>& other_readers = {});

}  // namespace fact::match
