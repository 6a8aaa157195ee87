// Operators that split a tensor's dimension into two halves, and that join two halves: rotary
// embeddings and packed gates consist of them.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace fact::graph {

// How the elements of the two halves are arranged along the dimension.
enum class HalfPlace {
    outer,   // x[:n], x[n:] of 2n elements
    inner,   // x[::2], x[1::2]
    single,  // x[0], x[1] of two: the result lacks the dimension
};

// One of two halves of a tensor, such as one of two weights that a module keeps in one tensor.
struct Half {
    int dim = 0, number = 0;  // number: 0 or 1
    bool stepped = false;     // true: HalfPlace::inner, false: HalfPlace::outer
    bool operator==(const Half&) const = default;
};

struct Halving {
    ValueId source{};
    std::size_t dim = 0;
    HalfPlace place = HalfPlace::outer;
    std::vector<int> halves;  // for each result of the node, which half it is
};

// nullopt for other operators, and for parts that are not halves.
std::optional<Halving> read_halving(const Graph& graph, const Node& node);

struct Joining {
    std::array<ValueId, 2> halves{};
    std::size_t dim = 0;
    bool adds_dim = false;  // the dimension is a new one, of two elements
};

// nullopt for other operators, and for more or fewer than two tensors.
std::optional<Joining> read_joining(const Graph& graph, const Node& node);

}  // namespace fact::graph
