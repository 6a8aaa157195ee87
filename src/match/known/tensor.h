// Building blocks for computing tensors whose elements are known: constants, pointwise operators,
// tensors generated element by element, and views.
#pragma once

#include <functional>
#include <optional>

#include "graph/graph.h"
#include "match/known/values.h"

namespace fact::match {

// Tensors with more elements than this are not computed; a mask of 4096 x 4096 has as many.
inline constexpr std::int64_t kMaxKnown = std::int64_t{1} << 24;

// A tensor that repeats one number.
KnownTensor filled(const std::vector<std::int64_t>& sizes, double value);

// Applies `operation` to the operands' elements, broadcast to `sizes`, and rounds to the type.
// Dimensions that no operand varies along have stride zero. nullopt if the result is too large, if
// operands do not broadcast, or if an integer would overflow.
std::optional<KnownTensor> map_elements(
    const std::vector<std::int64_t>& sizes, DType dtype, const std::vector<KnownTensor>& operands,
    const std::function<double(std::span<const double>)>& operation);

// Computes a tensor element by element, in memory order; `element` gets the coordinates and all
// elements before it. Dimensions along which nothing changes get stride zero. nullopt if the tensor
// is too large.
std::optional<KnownTensor> generate_elements(
    const std::vector<std::int64_t>& sizes,
    const std::function<double(const std::vector<std::int64_t>&, std::span<const double>)>&
        element);

// The result of a view of a known tensor; nullopt if the node is not a view.
std::optional<KnownTensor> known_view(const graph::Node& node,
                                      const std::vector<std::int64_t>& sizes, KnownTensor source);

}  // namespace fact::match
