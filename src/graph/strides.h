// The strides of what torch computes, where they follow from those of what it reads.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace fact::graph {

// Elements in order, without gaps.
std::vector<std::int64_t> dense_strides(std::span<const std::int64_t> sizes);

// The type of `aten.permute` with these dims.
TensorType permuted(const TensorType& type, std::span<const std::int64_t> dims);

// The type of `aten.reshape` to these sizes: a view where torch gives one, else a dense copy.
TensorType reshaped(const TensorType& type, std::vector<std::int64_t> sizes);

// The type of a pointwise operator on operands of one type that broadcast to these sizes: torch
// stores its result in the order in which its operands lie.
TensorType broadcast_result(std::vector<std::int64_t> sizes, std::span<const TensorType> operands);

}  // namespace fact::graph
