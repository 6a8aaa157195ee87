// Records of similar work, from which a search starts.
#pragma once

#include <string>
#include <vector>

#include "registry/record.h"
#include "registry/store.h"

namespace fact::registry {

// The distance of two shapes: the sum of |log2| of the ratios of m, n, k and batch.
double distance(const Work& a, const Work& b);

// At most `most` schedules of similar work (the same architecture, element type and layout of
// operands), without repetition, most promising first: those of the same text apart from its
// numbers, then those of other texts of the same rule; within each, those of the same GPU first,
// then those of the nearest shapes.
std::vector<std::string> neighbour_schedules(const std::vector<Entry>& entries, const Work& work,
                                             std::size_t most = 4);

}  // namespace fact::registry
