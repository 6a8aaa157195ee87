// Which parts of a graph are worth fusing.
#pragma once

#include <span>

#include "graph/pt2_archive.h"
#include "match/patterns/pattern.h"

namespace fact::match {

// Grows a region around every product and chooses among overlapping regions by the time they
// save. Attention is a pattern of its own, chosen before all others if one attention skeleton
// computes it; norms and rotary embeddings that no product absorbs are patterns too. `weights`, if
// given, are the contents of the buffers, which show, for example, whether a mask is causal.
//
// One product may have several patterns ("p00", "p00b", ...): with and without row-wise operators,
// with and without the norm before it. Linears that read the same input may be one pattern ("l00")
// as well as one each. Composing chooses between them.
Discovery discover(const graph::Graph& graph, const Options& options,
                   std::span<const graph::Weight> weights = {});

}  // namespace fact::match
