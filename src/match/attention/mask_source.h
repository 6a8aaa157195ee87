// What a mask of attention is made of, where that is less to read than the mask: a bias by head
// joined with a padding mask, say. The kernel then joins them at every place.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>

#include "graph/graph.h"
#include "match/axes/grouping.h"
#include "match/known/values.h"

namespace fact::match {

struct MaskSource {
    std::vector<Placed> reads;                 // each value once
    std::map<graph::ValueId, double> numbers;  // tensors of one known value
    std::set<graph::NodeId> nodes;     // pointwise operators and views that the kernel computes
    std::set<graph::NodeId> numbered;  // what makes the numbers
};

// Nothing where the mask is best read as it is. `extents` are those of the axes.
std::optional<MaskSource> find_mask_source(const graph::Graph& graph, KnownValues& known,
                                           const Placed& mask,
                                           std::span<const std::int64_t> extents);

}  // namespace fact::match
