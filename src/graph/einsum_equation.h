// What the indices of an einsum stand for, and in which order its operands are contracted.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "graph/arguments.h"

namespace fact::graph {

using Extents = std::map<char, std::int64_t>;

// The extent of each index; nullopt unless all operands are floating tensors of one type whose
// dimensions have indices of their own, of the same extent wherever they occur.
std::optional<Extents> index_extents(const Graph& graph, const Einsum& equation,
                                     const std::vector<ValueId>& values);

// Pairs of operands by their places among those that are left, the lower one first.
using Contractions = std::vector<std::pair<std::size_t, std::size_t>>;

// The path that the node was given; without one, always the first two. nullopt if it is not
// understood.
std::optional<Contractions> contractions(const Node& node, std::size_t operands);

}  // namespace fact::graph
