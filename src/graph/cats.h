// Tensors put together as one: cat and stack, and what becomes of them in a rewritten graph, where
// kernels write parts of the result in place.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace fact::graph {

// In a rewritten graph a cat or stack of which something is written in place is a node with one of
// these targets and the arguments "tensors", "dim" and "in_place": for each tensor, whether the
// node that computes it (a fused call, or another such node) writes it where it belongs in the
// result. The others are copied. If a call cannot write in place after all, that part is copied.
inline constexpr std::string_view kCatTarget = "fact.cat", kStackTarget = "fact.stack";

struct Cat {
    std::vector<ValueId> parts;
    std::size_t dim = 0;    // of the result
    bool adds_dim = false;  // a stack: each part is one element along `dim`
    std::vector<bool> in_place;
};

// Of torch's cat and stack and of the two above. nullopt for other operators, and unless the types
// of parts and result are known, the same but for their sizes, and fit together.
std::optional<Cat> read_cat(const Graph& graph, const Node& node);

// The node as one of the two above.
void write_cat(Node& node, const Cat& cat);

// Why a part cannot be written in place by what computes it, such as "is computed by torch"; "" if
// it is a fused call or a cat.
std::string why_not_in_place(const Graph& graph, ValueId part);

// Where the parts are in a result that is laid out as `whole`.
std::vector<TensorType> part_layouts(const Graph& graph, const Cat& cat, const TensorType& whole);

// Whether the tensor's elements take all memory between the first and the last, each its own.
bool fills_memory(const TensorType& type);

// A value that lies in the memory of a cat, or is that cat.
struct Spot {
    ValueId whole{};    // the outermost cat, whose memory is allocated
    TensorType memory;  // all of that
    TensorType layout;  // with the offset from its start
};
using Spots = std::map<ValueId, Spot>;
// Every value that is written in place and every cat with such parts. The graph must be sound.
Spots spots(const Graph& graph);

// What is wrong with the parts that the graph says are written in place; "" if nothing is.
std::string misplaced(const Graph& graph);

}  // namespace fact::graph
