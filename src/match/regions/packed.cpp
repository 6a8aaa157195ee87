#include "match/regions/packed.h"

#include "graph/arguments.h"
#include "graph/halves.h"

namespace fact::match {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

namespace {

bool is_last(std::int64_t dim, std::size_t rank) {
    return dim == -1 || dim == static_cast<std::int64_t>(rank) - 1;
}

// The nodes that take the two halves of `result`; nullopt if any node reads it in another way.
std::optional<Anchor::Cut> read_cut(const Graph& graph, const Facts& facts, ValueId result) {
    const auto& users = facts.users[graph::index(result)];
    const std::size_t rank = graph[result].type->sizes.size();
    if (facts.escapes[graph::index(result)] || users.empty()) return std::nullopt;
    const Node& user = graph[users.front()];
    if (users.size() == 1 && user.target == "aten.glu.default") {
        if (!is_last(graph::int_argument(user, "dim").value_or(-1), rank)) return std::nullopt;
        return Anchor::Cut{users, user.outputs.front(), std::nullopt, false};
    }
    std::optional<ValueId> halves[2];
    std::optional<graph::HalfPlace> place;
    for (const NodeId id : users) {
        const auto halving = graph::read_halving(graph, graph[id]);
        if (!halving || !is_last(static_cast<std::int64_t>(halving->dim), rank) ||
            halving->place == graph::HalfPlace::single || (place && place != halving->place))
            return std::nullopt;
        place = halving->place;
        for (std::size_t i = 0; i < halving->halves.size(); ++i) {
            auto& half = halves[static_cast<std::size_t>(halving->halves[i])];
            if (half) return std::nullopt;
            half = graph[id].outputs[i];
        }
    }
    for (const auto& half : halves)
        if (!half || facts.users[graph::index(*half)].empty()) return std::nullopt;
    return Anchor::Cut{users, *halves[0], halves[1], place == graph::HalfPlace::inner};
}

}  // namespace

std::optional<Anchor> read_packed(const Graph& graph, const Facts& facts, const Anchor& linear) {
    if (linear.form != graph::ProductForm::linear || graph[linear.a].type->dtype == DType::f32)
        return std::nullopt;
    const auto cut = read_cut(graph, facts, linear.result);
    if (!cut) return std::nullopt;
    Anchor anchor = linear;
    anchor.cut = cut;
    anchor.result = cut->first;
    anchor.space = {};
    const Shape& shape = linear.space.shape(linear.result);
    const Axis columns = shape.back().front();
    for (Axis axis = 0; axis < linear.space.num_axes(); ++axis) {
        const std::int64_t extent = linear.space.extent(axis);
        anchor.space.add_axis(axis == columns ? extent / 2 : extent);
    }
    anchor.space.a = linear.space.a;
    anchor.space.b = linear.space.b;
    anchor.space.place(cut->first, shape);
    if (cut->second) anchor.space.place(*cut->second, shape);
    // Halves of the weight and of the bias, whose dimension 0 runs over the columns.
    const graph::Half first{0, 0, cut->stepped}, second{0, 1, cut->stepped};
    anchor.half = first;
    if (linear.addend)
        anchor.space.add_side({linear.node, "bias", *linear.addend, {{columns}}, first});
    anchor.space.add_side({linear.node, kSecondWeight, linear.b, linear.space.b, second});
    if (linear.addend)
        anchor.space.add_side({linear.node, kSecondBias, *linear.addend, {{columns}}, second});
    return anchor;
}

}  // namespace fact::match
