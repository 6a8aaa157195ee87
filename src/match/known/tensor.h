// Operators over tensors whose elements are known: torch's views, factories and the pointwise ones
// that masks are made of.
#pragma once

#include <functional>
#include <optional>

#include "graph/graph.h"
#include "match/known/values.h"

namespace fact::match {

inline constexpr std::int64_t kMaxKnown = std::int64_t{1} << 24;  // elements: 4096 by 4096

// A tensor that repeats one number.
KnownTensor filled(const std::vector<std::int64_t>& sizes, double value);

// `operation` of the operands' elements, broadcast to `sizes` and rounded to the type. Dimensions
// that no operand varies along stay repeated. Nothing where it is too large.
std::optional<KnownTensor> map_elements(
    const std::vector<std::int64_t>& sizes, DType dtype, const std::vector<KnownTensor>& operands,
    const std::function<double(std::span<const double>)>& operation);

// A tensor made element by element, in memory order; `element` is given the place and the elements
// before it. Dimensions along which nothing changes are repeated. Nothing where it is too large.
std::optional<KnownTensor> gathered(const std::vector<std::int64_t>& sizes,
                                    const std::function<double(const std::vector<std::int64_t>&,
                                                               std::span<const double>)>& element);

// The result of a view of a known tensor; nothing where the node is no view.
std::optional<KnownTensor> known_view(const graph::Node& node,
                                      const std::vector<std::int64_t>& sizes, KnownTensor of);

}  // namespace fact::match
