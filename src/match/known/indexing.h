// Operators on known tensors that are not elementwise: running sums, differences of neighbours,
// indexing. Models use them to find the boundaries of packed sequences. `type` is the type of the
// result.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"
#include "match/known/values.h"

namespace fact::match {

// Running sum along the node's argument `dim`. nullopt unless elements are integers (floating sums
// depend on their order) and every sum is exact.
std::optional<KnownTensor> known_cumsum(const graph::Node& node, const graph::TensorType& type,
                                        const KnownTensor& source);

// Differences of neighbouring integers along the node's argument `dim`, with `prepend` before the
// first element. nullopt for differences of a higher order.
std::optional<KnownTensor> known_diff(const graph::Node& node, const graph::TensorType& type,
                                      const KnownTensor& source,
                                      const std::optional<KnownTensor>& prepend);

// source[indices[0], indices[1], ...]: integer indices for the first dimensions, broadcast against
// each other.
std::optional<KnownTensor> known_index(const graph::TensorType& type, const KnownTensor& source,
                                       const std::vector<KnownTensor>& indices);

}  // namespace fact::match
