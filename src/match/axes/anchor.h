// Products in the graph: linear, addmm, mm, bmm, baddbmm, matmul, einsum and convolutions of single
// points read as one thing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/products.h"
#include "match/axes/space.h"
#include "support/result.h"

namespace fact::match {

// In place of the product's node where there is none: then `a`, `b` and the result are one value,
// which the region starts from.
inline constexpr graph::NodeId kNoProduct{0xffffffff};

// result = alpha * (a @ b) + beta * addend; `space` names the axes of operands and result.
struct Anchor {
    graph::NodeId node{};
    std::string rule;  // "linear", "addmm", ...
    graph::ProductForm form = graph::ProductForm::matrices;
    graph::ValueId a{}, b{}, result{};
    std::optional<graph::ValueId> addend;
    double alpha = 1, beta = 1;
    Axis k = 0;
    Space space;

    // A linear cut in two (match/regions/packed.h): the nodes that cut it, and their halves.
    // Without a second one they gate, too, and the first is what they give.
    struct Cut {
        std::vector<graph::NodeId> nodes;
        graph::ValueId first{};
        std::optional<graph::ValueId> second;
        bool stepped = false;
    };
    std::optional<Cut> cut = {};
    std::optional<graph::Half> half = {};  // the part of `b` that is multiplied
};

// Arguments that a linear cut in two has besides its own.
inline constexpr const char* kSecondWeight = "second weight";
inline constexpr const char* kSecondBias = "second bias";

bool is_anchor(const graph::Node& node);

// An Error says why the product cannot be taken: its dtype, its rank, an empty or varying extent.
Result<Anchor> read_anchor(const graph::Graph& graph, graph::NodeId node);

}  // namespace fact::match
