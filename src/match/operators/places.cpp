#include "match/operators/places.h"

#include <limits>

#include "graph/arguments.h"
#include "match/operators/rowwise.h"

namespace fact::match {

using ir::BinaryOp;
using ir::ExprId;

ExprId place_along(Translation& t, const std::vector<ir::DimId>& dims) {
    ExprId place = t.build.index(dims.at(0));
    for (std::size_t i = 1; i < dims.size(); ++i) {
        place = t.build.binary(BinaryOp::mul, place, t.build.extent(dims[i]));
        place = t.build.binary(BinaryOp::add, place, t.build.index(dims[i]));
    }
    return place;
}

ExprId place_of_extreme(Translation& t, ExprId x, ExprId extreme,
                        const std::vector<ir::DimId>& over) {
    // The extreme is NaN if an element is: then none equals it, and else none differs from itself.
    const ExprId equal = t.build.binary(BinaryOp::eq, x, extreme);
    const ExprId is_nan = t.build.binary(BinaryOp::ne, x, x);
    const ExprId here = t.build.binary(BinaryOp::logical_or, equal, is_nan);
    const ExprId beyond = t.build.extent(t.kernel.factored_dim(over));
    return t.build.reduce(ir::ReduceOp::min, t.build.select(here, place_along(t, over), beyond),
                          over);
}

std::string unsupported_places(const graph::Graph& graph, const graph::Node& node) {
    const auto groups = dim_groups(graph, node);
    if (!groups) return groups.error().message;
    const auto input = std::get<graph::ValueId>(node.inputs.front().value);
    std::int64_t places = 1;
    for (const std::size_t dim : groups->back().dims) places *= graph[input].type->sizes[dim];
    if (places == 1) return "it looks for a place among one element";
    if (places > std::numeric_limits<std::int32_t>::max())
        return "its places do not fit in 32 bits";
    return "";
}

}  // namespace fact::match
