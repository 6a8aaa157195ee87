// Patterns that were found, and the choice among those that overlap.
#pragma once

#include <vector>

#include "match/patterns/pattern.h"
#include "match/regions/region.h"

namespace fact::match {

struct Candidate {
    graph::NodeId anchor{};
    std::vector<graph::NodeId> nodes;
    Pattern pattern;
    bool rowwise = false;  // has row-wise operators, so the text is cut into several kernels
    bool whole_attention = false;  // attention in one kernel: preferred to fusions of its parts
    double gain = 0;               // its priority; choose() equalizes similar ones of one product
    // A product with the operators around it, or several products that are computed as one.
    std::vector<Region> regions = {};
    std::vector<graph::NodeId> copied = {};  // Pattern::copied
    char id_prefix = 0;                      // 0: Family::id_prefix
};

// Chooses by gain and skips candidates that overlap a chosen one, except that one anchor may have
// two: with and without row-wise operators; measuring decides between them. Returns them in the
// order of their anchors, the larger candidate of an anchor first.
std::vector<Candidate> choose(std::vector<Candidate> candidates);

}  // namespace fact::match
