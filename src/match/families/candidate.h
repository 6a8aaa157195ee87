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
    double gain = 0;  // the pattern's priority; choose() makes similar gains of one anchor equal
    // One for each product of the pattern; none if a norm, attention or rotary embedding is its
    // anchor, or if a norm is folded into a single product.
    std::vector<Region> regions = {};
    std::vector<graph::NodeId> copied = {};  // Pattern::copied
    char id_prefix = 0;                      // 0 means Family::id_prefix
};

// Chooses by gain and skips candidates that overlap a chosen one, except that one anchor may have
// two: with and without row-wise operators; measuring decides between them. Returns them in the
// order of their anchors, the larger candidate of an anchor first.
std::vector<Candidate> choose(std::vector<Candidate> candidates);

}  // namespace fact::match
