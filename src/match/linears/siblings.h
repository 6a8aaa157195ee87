// Linears that read the same input, computed as one product with their concatenated weights. They
// may be followed by the same operators (as queries and keys are by a rotary embedding), which
// become part of the kernel; bare linears, which nothing follows (as values), may be among them.
#pragma once

#include <vector>

#include "match/patterns/pattern.h"
#include "match/regions/region.h"
#include "support/result.h"

namespace fact::match {

// Whether the region is a linear and nothing else.
bool is_bare_linear(const Region& region);

// Groups of at least two among regions of linears. All linears of a group read the same value, all
// or none have a bias, and their results have one type. Those that are followed by operators come
// first, and these operators are the same for all. Only 16-bit linears with constant weights are
// grouped, and none whose result is a result of the module.
std::vector<std::vector<Region>> siblings(const graph::Graph& graph, const Facts& facts,
                                          const std::vector<Region>& linears);

// The group as one pattern; with `fold`, the norm that all of them read is folded into it. An Error
// says why they cannot be one kernel.
Result<Pattern> write_siblings(const graph::Graph& graph, const Facts& facts,
                               const std::vector<Region>& group, const Fold* fold,
                               const Options& options, const GpuSpec& gpu);

}  // namespace fact::match
