// A graph as a model reads it: one line per operator, repeated layers shown once.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "sol/graph_bound.h"

namespace fact::agent {

struct LookRequest {
    std::string module = {};  // only operators of this module path and below; "": all
    int first = 0;            // the first line to print
    int count = 200;          // how many lines to print
    bool fold = true;         // show a numbered module that equals the one before it in one line
};

struct Listing {
    std::vector<std::string> lines;  // "linear_1 = linear(x bf16[8,64], ...) -> ...  12.5%"
    int all = 0;                     // how many lines there are in total
};

// `bounds`, one per node, give each operator's share of the time; without any, no share is shown.
Listing look(const graph::Graph& graph, const std::vector<sol::NodeBound>& bounds,
             const LookRequest& request);

}  // namespace fact::agent
