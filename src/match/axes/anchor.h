// One description of all matrix products in the graph: linear, addmm, mm, bmm, baddbmm, matmul,
// einsum and 1x1 convolutions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/products.h"
#include "match/axes/space.h"
#include "support/result.h"

namespace fact::match {

// Anchor::node of a region without a product: `a`, `b` and `result` are then all the one value that
// the region starts from.
inline constexpr graph::NodeId kNoProduct{0xffffffff};

// result = alpha * (a @ b) + beta * addend; `space` names the axes of operands and result.
struct Anchor {
    graph::NodeId node{};
    std::string rule;  // "linear", "addmm", ...
    graph::ProductForm form = graph::ProductForm::matrices;
    graph::ValueId a{}, b{}, result{};
    std::optional<graph::ValueId> addend;
    double alpha = 1, beta = 1;
    Axis k = 0;  // the axis that is summed over
    Space space;

    // A linear whose result is cut into two halves (match/regions/packed.h).
    struct Cut {
        std::vector<graph::NodeId> nodes;      // those that cut it
        graph::ValueId first{};                // the first half; after aten.glu, the gated result
        std::optional<graph::ValueId> second;  // the second half; none after aten.glu
        bool stepped = false;                  // the halves alternate element by element
    };
    std::optional<Cut> cut = {};
    std::optional<graph::Half> half = {};  // the half of `b` that this product multiplies by
};

// Names of the additional arguments (SideUse::argument) of a linear cut in two.
inline constexpr const char* kSecondWeight = "second weight";
inline constexpr const char* kSecondBias = "second bias";

// Whether the node is a matrix product. Other operators that patterns grow around do not count.
bool is_anchor(const graph::Node& node);

// An Error says why no kernel computes the product: its dtype, its rank, an empty or varying
// extent.
Result<Anchor> read_anchor(const graph::Graph& graph, graph::NodeId node);

}  // namespace fact::match
