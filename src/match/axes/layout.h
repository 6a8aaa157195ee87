// From strides to the dimensions of a kernel: which axes merge, which become batches, and how each
// tensor lists them in memory order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "match/axes/grouping.h"
#include "support/result.h"

namespace fact::match {

// Axes that always go together: a symbol of the kernel, or a number ("16") where its extent cannot
// be told from the tensors because it is only ever a part of a dimension.
struct Atom {
    std::string name;        // "B", "M", "N", "K"
    std::vector<Axis> axes;  // merged, outer first
    std::int64_t extent = 1;
};

using Atoms = std::vector<int>;  // one dimension: the product of these, outer first

// The same as a kernel takes it, dimensions in memory order.
struct Laid {
    graph::ValueId value{};
    std::vector<Atoms> order;
    std::vector<std::vector<int>> dims;  // graph dimensions of each
    int alignment = 16;                  // bytes that divide its start and every stride, at most 16
    std::optional<graph::Half> half = {};
};

struct Layout {
    std::vector<Atom> atoms;  // of the batches, M, N, K, and of dimensions the product lacks
    std::vector<Atoms> batches;
    Atoms m, n, k;  // without a product: rows, what lies in one piece, and nothing
    Laid a, b;
    std::vector<Laid> results, sides;
    bool swapped = false;  // computes the transposed product: `a` is the anchor's b

    std::int64_t extent(const Atoms& dim) const;
};

// What a kernel is made of, as the graph has it.
struct Parts {
    Placed a, b;
    std::vector<Placed> results, sides;
};

// An Error says what the kernel language cannot address.
Result<Layout> lay_out(const graph::Graph& graph, const Space& space, Axis k, const Parts& parts);

}  // namespace fact::match
