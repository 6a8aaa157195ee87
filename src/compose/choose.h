// Which patterns are worth fusing, and why the others are not.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "match/patterns/pattern.h"
#include "support/times.h"

namespace fact::compose {

// A pattern after its family was realized.
struct Candidate {
    const match::Pattern* pattern = nullptr;
    bool realized = false;
    std::string why;        // why it was not realized
    Times fused, baseline;  // of the kernel, and of the subgraph it replaces
};

struct Choice {
    bool fused = false;
    std::string why;      // why it is not fused
    double saves_us = 0;  // in the whole module, if that was measured
};

// One choice per candidate, in their order. A pattern is fused if its kernel passed, if it is
// faster than the subgraph by more than the uncertainty of the two medians (if they were timed),
// and if the fused call makes no cycle in the graph. Patterns that save more go first; among
// overlapping ones the combination that saves most wins (a norm and a product, or the two as one).
std::vector<Choice> choose(const graph::Graph& graph, const std::vector<Candidate>& candidates);

}  // namespace fact::compose
