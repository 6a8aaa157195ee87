// Places along dimensions: an element's own, and that of the largest or smallest element.
#pragma once

#include <string>
#include <vector>

#include "match/operators/translation.h"

namespace fact::match {

// The place of an element along these dimensions, the outermost first, counted as if they were one.
ir::ExprId place_along(Translation& t, const std::vector<ir::DimId>& dims);

// The least place at which the extreme of x over the dimensions stands: of a NaN, if x has one.
ir::ExprId place_of_extreme(Translation& t, ir::ExprId x, ir::ExprId extreme,
                            const std::vector<ir::DimId>& over);

// Each as RowwiseOp::build.
using PlaceDims = std::vector<std::vector<ir::DimId>>;
template <ir::ReduceOp op>
std::vector<ir::ExprId> place_of(Translation& t, ir::ExprId x, const PlaceDims& dims) {
    return {place_of_extreme(t, x, t.build.reduce(op, x, dims[0]), dims[0])};
}
template <ir::ReduceOp op>
std::vector<ir::ExprId> extreme_and_place(Translation& t, ir::ExprId x, const PlaceDims& dims) {
    if (dims[0].empty()) return {x};
    const ir::ExprId extreme = t.build.reduce(op, x, dims[0]);
    return {extreme, place_of_extreme(t, x, extreme, dims[0])};
}

// Why kernels cannot count along the node's dimensions, or "".
std::string unsupported_places(const graph::Graph& graph, const graph::Node& node);

}  // namespace fact::match
