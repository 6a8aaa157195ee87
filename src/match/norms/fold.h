// Which norm may be folded into a product, and how it becomes a part of the product's region.
#pragma once

#include <optional>
#include <vector>

#include "match/regions/fold.h"
#include "match/regions/region.h"

namespace fact::match {

// The norm whose result is the product's first operand: of 16-bit rows as long as the product's
// sum, by vectors of the same type that are constant, as the weight must be. In f16 only one
// without a gain.
std::optional<Fold> read_fold(const graph::Graph& graph, const Facts& facts, const Anchor& anchor);

// Makes the norm a part of the region. False where others read the norm too than the region and
// `also`, or a weight is not constant.
bool fold_into(const graph::Graph& graph, const Facts& facts, const Fold& fold, Region& region,
               const std::vector<graph::NodeId>& also = {});

}  // namespace fact::match
