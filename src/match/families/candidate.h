// Patterns that may be fused, and which of them are offered.
#pragma once

#include <vector>

#include "match/patterns/pattern.h"
#include "match/regions/region.h"

namespace fact::match {

struct Candidate {
    graph::NodeId anchor{};
    std::vector<graph::NodeId> nodes;
    Pattern pattern;
    bool rowwise = false;  // it looks along rows: kernels of several stages
    bool whole = false;    // attention in one kernel: nothing made of its parts comes near it
    double gain = 0;       // its priority, near ones of the same product made equal
    // A product with what is around it, or several that are computed as one.
    std::vector<Region> regions = {};
    std::vector<graph::NodeId> copied = {};  // Pattern::copied
    char id_prefix = 0;                      // where that is not its family's
};

// Most gain first; regions that overlap a chosen one are passed over. Only of the same product
// there may be two, with what looks along its rows and without: measuring decides. In the order of
// their anchors, of one anchor the larger first.
std::vector<Candidate> choose(std::vector<Candidate> candidates);

}  // namespace fact::match
