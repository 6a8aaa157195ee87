// Operators over known tensors whose elements come from other places than their own: running sums,
// differences of neighbours, gathering. Models tell packed sequences apart with them.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"
#include "match/known/values.h"

namespace fact::match {

// Of integers alone: floating sums depend on their order. Nothing where the arguments are others
// than a plain `dim`.
std::optional<KnownTensor> known_cumsum(const graph::Node& node, const graph::TensorType& type,
                                        const KnownTensor& of);

// Of neighbours along `dim`, once; `prepend` stands before the first.
std::optional<KnownTensor> known_diff(const graph::Node& node, const graph::TensorType& type,
                                      const KnownTensor& of,
                                      const std::optional<KnownTensor>& prepend);

// of[indices[0], indices[1], ...]: integers for the first dimensions, broadcast against each other.
std::optional<KnownTensor> known_index(const graph::TensorType& type, const KnownTensor& of,
                                       const std::vector<KnownTensor>& indices);

}  // namespace fact::match
