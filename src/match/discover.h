// Which parts of a graph are worth fusing.
#pragma once

#include <span>

#include "graph/pt2_archive.h"
#include "match/patterns/pattern.h"

namespace fact::match {

// Grows a region around every product, resolves overlaps by gain; attention is a pattern of its
// own, and where a skeleton holds it that goes before gain; so are norms and rotary embeddings that
// no product takes along. `weights`, where they are given, tell what a buffer holds: whether a mask
// is causal. Of one product there may be several patterns ("p00", "p00b", ...), with and without
// what looks along its rows, with and without the norm before it: whoever composes decides. So it
// does between linears of the same input as one product ("l00") and each by itself.
Discovery discover(const graph::Graph& graph, const Options& options,
                   std::span<const graph::Weight> weights = {});

}  // namespace fact::match
