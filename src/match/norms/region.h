// A norm and the operators around it that one kernel can compute in one pass over the rows.
#pragma once

#include <set>

#include "match/regions/region.h"

namespace fact::match {

struct NormRegion {
    std::vector<graph::NodeId> nodes;     // in execution order
    std::vector<graph::ValueId> outputs;  // values that others read, the normalised one last
    std::vector<std::int64_t> rows;       // the sizes of the tensor that is normalised
};

// Whether the node is a row-wise operator over just the last dimension, and keeps the rank.
bool is_over_rows(const graph::Graph& graph, const graph::Node& node);

// Whether a norm may be found around the node: a norm operator, or a mean over the last dimension.
bool is_norm(const graph::Graph& graph, const graph::Node& node);

// The largest set of pointwise operators and row reductions around `node` of which others read only
// the last result, with the operators that compute their weights. With `residual`, it includes the
// sum before the norm, which others may read too. The result has no outputs if there is no such
// set.
NormRegion grow_norm(const graph::Graph& graph, const Facts& facts,
                     const std::set<graph::NodeId>& taken, graph::NodeId node,
                     bool residual = true);

}  // namespace fact::match
