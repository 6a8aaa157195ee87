// The order of a kernel's dimensions in what it keeps in memory.
#pragma once

#include <span>

#include "match/axes/grouping.h"
#include "match/axes/layout.h"

namespace fact::match {

// Sorts the atoms as they are in memory: places are where the dimension is that they see, the
// results of a convolution where its channels are. What a kernel keeps between its stages is then
// in the order of what it reads or, if no result that is as large has that order, of a result.
void follow_memory(const graph::Graph& graph, const Space& space, const PlacedTensor& read,
                   std::span<const PlacedTensor> results, Layout& layout);

}  // namespace fact::match
