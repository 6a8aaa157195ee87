// Linears that read the same input as one product, by their weights behind one another. What
// follows them in the same way (a rotary embedding of queries and of keys) is computed along, and
// linears that nothing follows (values) may be among them.
#pragma once

#include <vector>

#include "match/patterns/pattern.h"
#include "match/regions/region.h"
#include "support/result.h"

namespace fact::match {

// Whether the linear is all there is: nothing is computed along.
bool is_plain(const Region& region);

// Groups of two and more among regions of linears, each the linear with what is computed along: all
// of a group read the same value, have a bias or none and results of one type, and those that
// compute something along come first and do the same. Only 16-bit linears whose weights are
// constants and whose results stay in the graph.
std::vector<std::vector<Region>> siblings(const graph::Graph& graph, const Facts& facts,
                                          const std::vector<Region>& linears);

// The group as one pattern, with the norm that all of it read where there is a `fold`. An Error
// says what keeps them from being one kernel.
Result<Pattern> write_siblings(const graph::Graph& graph, const Facts& facts,
                               const std::vector<Region>& group, const Fold* fold,
                               const Options& options, const GpuSpec& gpu);

}  // namespace fact::match
