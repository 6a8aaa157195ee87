// Writes an einsum as sums, broadcasting products and contractions of two tensors.
#pragma once

#include "graph/graph.h"

namespace fact::graph {

// Every einsum of floating tensors becomes a chain of steps with two operands each, in the order in
// which torch contracts them (left to right, unless a path is given), with torch's own roundings
// between them. What only one operand of a step has and nothing later reads is summed first
// (aten.sum); operands that share no dimension to sum over are multiplied (aten.mul), and so are
// those of which one is a vector in f32, whose product is then summed; all others remain an einsum
// of two tensors that sums over one index, several of them being viewed as one. Einsums with an
// ellipsis, with a repeated index or that broadcast a dimension of one element stay as they are.
// Values keep their names.
Graph split_einsums(const Graph& graph);

}  // namespace fact::graph
