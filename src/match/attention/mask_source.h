// The smaller tensors that an attention mask is computed from, for example a bias per head and a
// padding mask. The kernel reads these and computes the mask for each score.
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
    std::vector<PlacedTensor> reads;           // each value once
    std::map<graph::ValueId, double> numbers;  // tensors that repeat one known number
    std::set<graph::NodeId> nodes;         // pointwise operators and views that the kernel computes
    std::set<graph::NodeId> number_nodes;  // producers of `numbers`
};

// nullopt if it is best to read the mask itself. `extents` are those of the axes.
std::optional<MaskSource> find_mask_source(const graph::Graph& graph, KnownValues& known,
                                           const PlacedTensor& mask,
                                           std::span<const std::int64_t> extents);

}  // namespace fact::match
