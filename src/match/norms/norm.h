// Norms that no product takes along, as patterns of their own: one operator, or the statistics and
// what is made of them written out, with the pointwise operators around them.
#pragma once

#include <set>

#include "match/patterns/pattern.h"
#include "match/regions/region.h"
#include "support/result.h"
#include "target/gpu_spec.h"

namespace fact::match {

// Whether a norm may be grown around the node: a norm, or a mean along the last dimension.
bool is_norm(const graph::Graph& graph, const graph::Node& node);

struct NormPattern {
    std::vector<graph::NodeId> nodes;
    Pattern pattern;
};
// Nodes of `taken` belong to other patterns. An Error says why it is left.
Result<NormPattern> norm_pattern(const graph::Graph& graph, const Facts& facts,
                                 const std::set<graph::NodeId>& taken, graph::NodeId node,
                                 const Options& options, const GpuSpec& gpu);

}  // namespace fact::match
