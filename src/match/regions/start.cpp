#include "match/regions/start.h"

#include "match/operators/pointwise.h"

namespace fact::match {

std::optional<Anchor> start_at(const graph::Graph& graph, graph::ValueId root, std::string rule) {
    if (!unsupported_type(graph, root, true).empty()) return std::nullopt;
    const auto& type = *graph[root].type;
    Anchor anchor;
    anchor.node = kNoProduct;
    anchor.rule = std::move(rule);
    anchor.a = anchor.b = anchor.result = root;
    anchor.k = kNoAxis;
    Shape shape;
    for (std::size_t i = 0; i < type.sizes.size(); ++i) {
        if (type.sizes[i] == 0 || (type.sizes[i] > 1 && type.strides[i] == 0)) return std::nullopt;
        shape.push_back({anchor.space.add_axis(type.sizes[i])});
    }
    anchor.space.place(root, std::move(shape));
    anchor.space.mark_exact(root);
    return anchor;
}

}  // namespace fact::match
