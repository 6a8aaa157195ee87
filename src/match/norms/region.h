// A norm and the operators around it that one kernel can compute in one pass over the rows.
#pragma once

#include <set>

#include "match/regions/region.h"

namespace fact::match {

struct NormRegion {
    std::vector<graph::NodeId> nodes;     // in execution order
    std::vector<graph::ValueId> outputs;  // values that others read, the normalised one last
    std::vector<std::int64_t> sizes;      // of the normalised tensor; the last is a row's length
};

// Whether the node is a row-wise operator over just the last dimension, and keeps the rank.
bool is_over_rows(const graph::Graph& graph, const graph::Node& node);

// Whether the node is a norm operator, or a mean, with which a spelled-out norm begins; both over
// just the last dimension.
bool is_norm_or_mean(const graph::Graph& graph, const graph::Node& node);

// The region around a norm operator or mean: the largest set of pointwise and row-wise operators,
// including those that compute their weights, such that nodes outside read only the result of the
// last one. With `residual`, the sum before the norm is added, although nodes outside may read it
// too. Nodes of `taken` are left out. Without such a set, the region has no outputs.
NormRegion grow_norm(const graph::Graph& graph, const Facts& facts,
                     const std::set<graph::NodeId>& taken, graph::NodeId node,
                     bool residual = true);

}  // namespace fact::match
