// Operators that take a tensor's dimension apart into two halves, and that put two together: what
// rotary embeddings are made of.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace fact::match {

// Where along the dimension the number of the half is found.
enum class HalfPlace {
    outer,   // x[:n], x[n:] of 2n elements
    inner,   // x[::2], x[1::2]
    single,  // x[0], x[1] of two: the result lacks the dimension
};

struct Halving {
    graph::ValueId source{};
    std::size_t dim = 0;
    HalfPlace place = HalfPlace::outer;
    std::vector<int> halves;  // which one each of the node's results is
};

// Nothing for other operators, and for parts that are no halves.
std::optional<Halving> read_halving(const graph::Graph& graph, const graph::Node& node);

struct Joining {
    std::array<graph::ValueId, 2> halves{};
    std::size_t dim = 0;
    bool adds_dim = false;  // the dimension is a new one, of two elements
};

// Nothing for other operators, and for more or fewer than two tensors.
std::optional<Joining> read_joining(const graph::Graph& graph, const graph::Node& node);

}  // namespace fact::match
