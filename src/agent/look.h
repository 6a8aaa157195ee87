// A graph as a model reads it: one line an operator, layers that are alike told once.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "sol/graph_bound.h"

namespace fact::agent {

struct LookRequest {
    std::string module = {};  // only operators of this module path and below; "": all
    int first = 0;            // of the lines that would be printed
    int count = 200;
    bool fold = true;  // numbered modules that are like the one before are told in one line
};

struct Looked {
    std::vector<std::string> lines;  // "linear_1 = linear(x [8, 64] bf16, ...) -> ... 12.5%"
    int all = 0;                     // how many lines there are in all
};

// `bounds` are of every node: they say what share of the time an operator takes at least. Without
// any, nothing is said of that.
Looked look(const graph::Graph& graph, const std::vector<sol::NodeBound>& bounds,
            const LookRequest& request);

}  // namespace fact::agent
