// Records of similar work, from which a search starts.
#pragma once

#include <string>
#include <vector>

#include "registry/record.h"
#include "registry/store.h"

namespace fact::registry {

// The distance of two shapes: the sum of |log2| of the ratios of m, n, k and batch.
double distance(const Work& a, const Work& b);

// Schedules of similar work on the same architecture, without repetition, most promising first: the
// same work, then the same rule and dtype at other extents, then other epilogues of the same kind
// of product; within each, those of the same GPU first, then the nearest shapes.
std::vector<std::string> neighbour_schedules(const std::vector<Entry>& entries, const Work& work,
                                             std::size_t most = 4);

}  // namespace fact::registry
