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
    // Flops that its products need, if fewer than the operators compute: scores hidden by a causal
    // mask need not be computed. 0: as many as the operators.
    double product_flops = 0;
};

struct GraphBound {
    double flops = 0;
    double unfused_bytes = 0, least_bytes = 0;  // of the operators one by one; of the ideal program
    double unfused_us = 0;                      // an optimistic estimate of eager PyTorch
    std::vector<std::size_t> used;  // indices of the parts that were counted, which do not overlap
    Bound fused;                    // each of these parts as one kernel, all other nodes as torch's
    Bound ideal;                    // see ideal_bound
    int only_bytes = 0;             // how many operators have unknown flops: only bytes are counted
};

GraphBound graph_bound(const graph::Graph& graph, const std::vector<NodeBound>& nodes,
                       const std::vector<Part>& parts, Tf32 tf32, const GpuSpec& gpu);

// An ideal program reads the used part of every input and weight once, writes every result once and
// keeps everything else on the chip. Traffic, tensor cores and other cores overlap perfectly, so
// its time is the longest of the three. It assumes no order of kernels, hence nothing that computes
// the same in the same precision can be faster.
Bound ideal_bound(const std::vector<NodeBound>& nodes, double bytes, Tf32 tf32, const GpuSpec& gpu);

// The bytes that the ideal program reads and writes.
double least_bytes(const graph::Graph& graph, const std::vector<NodeBound>& nodes);

}  // namespace fact::sol
