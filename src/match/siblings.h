// Linears that read the same input as one product: their weights are laid behind one another, which
// happens once while they stand still.
#pragma once

#include <vector>

#include "match/pattern.h"
#include "match/region.h"
#include "support/result.h"

namespace fact::match {

// Groups of two and more among regions of single linears: those of one group read the same value,
// and have weights and results of the same type. Only linears whose weights are constants and whose
// results stay in the graph.
std::vector<std::vector<Region>> siblings(const graph::Graph& graph, const Facts& facts,
                                          const std::vector<Region>& linears);

// An Error says what keeps them from being one kernel.
Result<Pattern> write_siblings(const graph::Graph& graph, const Facts& facts,
                               const std::vector<Region>& linears, const Options& options,
                               const GpuSpec& gpu);

}  // namespace fact::match
