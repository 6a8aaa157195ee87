// The operators around a norm that one pass over its rows can compute.
#pragma once

#include <set>

#include "match/regions/region.h"

namespace fact::match {

struct NormRegion {
    std::vector<graph::NodeId> nodes;     // in execution order
    std::vector<graph::ValueId> outputs;  // what others read of them, the norm's own result last
    std::vector<std::int64_t> rows;       // the sizes of what is normalised
};

// Whether the node looks along the last dimension alone and keeps the rank.
bool looks_along_rows(const graph::Graph& graph, const graph::Node& node);

// Whether a norm may be grown around the node: a norm, or a mean along the last dimension.
bool is_norm(const graph::Graph& graph, const graph::Node& node);

// The largest set of pointwise operators and reductions of rows around `node` of which others read
// only the last one's rows, with what makes their weights; and, with `residual`, before them a sum
// that others may read too. No outputs where there is none.
NormRegion grow_norm(const graph::Graph& graph, const Facts& facts,
                     const std::set<graph::NodeId>& taken, graph::NodeId node,
                     bool residual = true);

}  // namespace fact::match
