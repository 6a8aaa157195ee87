// Which patterns are worth fusing, and why the others are not.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "match/patterns/pattern.h"
#include "support/times.h"

namespace fact::compose {

// What is known of a pattern after its family was realized.
struct Candidate {
    const match::Pattern* pattern = nullptr;
    bool realized = false;
    std::string why;        // when not
    Times fused, baseline;  // the kernel, and the subgraph it replaces
};

struct Choice {
    bool fused = false;
    std::string why;      // when not
    double saves_us = 0;  // in the whole module, where that was measured
};

// In the order of `candidates`. A pattern is fused when its kernel passed, its measured time beats
// the subgraph's by more than the two medians are uncertain (where there are times), and the calls
// it would make keep the graph free of cycles; patterns that save more are asked first, and of
// those that overlap the ones that save most together (a norm and a product, or the two as one).
std::vector<Choice> choose(const graph::Graph& graph, const std::vector<Candidate>& candidates);

}  // namespace fact::compose
