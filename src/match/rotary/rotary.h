// Rotary embeddings that no product takes along, as patterns of their own.
#pragma once

#include <set>

#include "match/patterns/pattern.h"
#include "match/regions/region.h"
#include "support/result.h"
#include "target/gpu_spec.h"

namespace fact::match {

struct RotaryPattern {
    std::vector<graph::NodeId> nodes;
    Pattern pattern;
};
// Around a node that takes halves apart (graph/halves.h), with the casts and views before it and
// the pointwise operators between and after. Nodes of `taken` belong to other patterns. An Error
// says why it is left.
Result<RotaryPattern> rotary_pattern(const graph::Graph& graph, Facts& facts,
                                     const std::set<graph::NodeId>& taken, graph::NodeId node,
                                     const Options& options, const GpuSpec& gpu);

}  // namespace fact::match
