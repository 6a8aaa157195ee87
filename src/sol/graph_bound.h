// The speed of light of a whole graph: operator by operator, with parts of it fused, and as one
// ideal program.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "sol/work.h"

namespace fact::sol {

struct NodeBound {
    graph::NodeId node{};
    NodeWork work;
    Bound bound;            // as a kernel of ours
    double unfused_us = 0;  // as torch runs it: the calibrated bound in torch's precision
};

std::vector<NodeBound> node_bounds(const graph::Graph& graph, Tf32 tf32, const GpuSpec& gpu);

// Nodes that one kernel computes.
struct Part {
    std::vector<graph::NodeId> nodes;
    Bound bound;
    // Of its products, where that is less than the operators do: scores that a causal mask hides
    // need no computing. 0: what the operators do.
    double product_flops = 0;
};

struct GraphBound {
    double flops = 0;
    double unfused_bytes = 0, least_bytes = 0;  // by the operators one by one; by the ideal program
    double unfused_us = 0;                      // an optimistic estimate of eager
    std::vector<std::size_t> used;  // parts that were counted: of those that overlap the better one
    Bound fused;                    // those parts as one kernel each, all other nodes as torch's
    Bound ideal;                    // see ideal_bound
    int only_bytes = 0;             // operators nothing more is known of
};

GraphBound graph_bound(const graph::Graph& graph, const std::vector<NodeBound>& nodes,
                       const std::vector<Part>& parts, Tf32 tf32, const GpuSpec& gpu);

// One program that reads every input and weight once, as far as anything looks at it, writes every
// result once and keeps all else on the chip: traffic, tensor cores and the other cores overlap
// perfectly, so that the longest of the three is what it takes. No order of kernels is assumed,
// hence nothing that computes the same in the same precision is faster.
Bound ideal_bound(const std::vector<NodeBound>& nodes, double bytes, Tf32 tf32, const GpuSpec& gpu);

// What that program moves.
double least_bytes(const graph::Graph& graph, const std::vector<NodeBound>& nodes);

}  // namespace fact::sol
