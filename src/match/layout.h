// From strides to the dimensions of a kernel: which axes merge, which become batches, and how each
// tensor lists them in memory order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "match/anchor.h"
#include "support/result.h"

namespace fact::match {

struct KernelDim {
    std::string name;        // "B", "H", "M", "N", "K"
    std::vector<Axis> axes;  // merged, outer first
    std::int64_t extent = 1;
};

// A tensor of the region: a graph value and the axes its dimensions run over.
struct Placed {
    graph::ValueId value{};
    Shape shape;
    bool operator==(const Placed&) const = default;
};

// The same as a kernel takes it, dimensions in memory order.
struct Laid {
    graph::ValueId value{};
    std::vector<int> order;              // kernel dimensions
    std::vector<std::vector<int>> dims;  // graph dimensions of each
};

struct Layout {
    std::vector<KernelDim> dims;  // batches, then M, N, K
    Laid a, b, result;
    std::vector<Laid> sides;
    bool swapped = false;  // computes the transposed product: `a` is the anchor's b

    int m() const { return static_cast<int>(dims.size()) - 3; }
    int n() const { return m() + 1; }
    int k() const { return m() + 2; }
};

// An Error says what the kernel language or TMA cannot address.
Result<Layout> lay_out(const graph::Graph& graph, const Space& space, Axis k, const Placed& a,
                       const Placed& b, const Placed& result, const std::vector<Placed>& sides);

}  // namespace fact::match
