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

// Axes that no operator or tensor separates: the smallest part of a kernel's dimensions. Its name
// is a symbol of the kernel ("B", "M", "N", "K"). An atom that is always the inner part of a
// dimension is named by its extent ("16"): a kernel computes an extent only from a whole dimension
// or from its outermost part.
struct Atom {
    std::string name;
    std::vector<Axis> axes;  // merged, outermost first
    std::int64_t extent = 1;
};

using Atoms = std::vector<int>;  // one dimension, as indices of its atoms, outermost first

// A tensor as the kernel declares it, dimensions in memory order.
struct KernelTensor {
    graph::ValueId value{};
    std::vector<Atoms> order;
    std::vector<std::vector<int>> dims;    // for each of `order`, the graph tensor's dimensions
    int alignment = 16;                    // in bytes: see graph::alignment
    std::optional<graph::Half> half = {};  // the only part that is read, if not all
};

struct Layout {
    // In the order that a kernel's values have them: those of the batches, M, N, K, then of
    // dimensions the product lacks; with windows, as they are in memory (memory_order.h).
    std::vector<Atom> atoms;
    std::vector<Atoms> batches;
    Atoms m, n, k;  // without a product: the rows, if any, the contiguous dimension, and
                    // nothing
    std::vector<Atoms> others;  // dimensions the product lacks
    KernelTensor a, b;
    std::vector<KernelTensor> results, sides;
    bool swapped = false;  // computes the transposed product: `a` is the anchor's b

    std::int64_t extent(const Atoms& dim) const;
};

// The tensors of a kernel as the graph has them.
struct RegionTensors {
    PlacedTensor a, b;
    std::vector<PlacedTensor> results, sides;
};

// An Error says what the kernel language cannot address.
Result<Layout> plan_layout(const graph::Graph& graph, const Space& space, Axis k,
                           const RegionTensors& tensors);

}  // namespace fact::match
