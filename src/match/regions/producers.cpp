#include "match/regions/producers.h"

#include <algorithm>

#include "graph/operators.h"
#include "match/operators/pointwise.h"

namespace fact::match {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

namespace {

// Adds a second linear of the same input, whose result is a side operand: both are computed in one
// tile.
bool take_second_linear(const Graph& graph, Region& region, NodeId producer) {
    const DType dtype = graph[region.anchor.a].type->dtype;
    if (region.second || region.anchor.cut || region.anchor.form != graph::ProductForm::linear ||
        dtype == DType::f32)
        return false;
    const auto anchor = read_anchor(graph, producer);
    if (!anchor || anchor->form != graph::ProductForm::linear || anchor->a != region.anchor.a)
        return false;
    if (!region.anchor.space.absorb_second_linear(graph, *anchor).empty()) return false;
    region.second = producer;
    return true;
}

// Whether the node only views what a pointwise operator computes, and nothing else reads that.
bool views_pointwise(const Graph& graph, const Facts& facts, NodeId id) {
    const Node& node = graph[id];
    if (node.target != "aten.permute.default" && !graph::is_reshape(node)) return false;
    const auto* source = std::get_if<ValueId>(&node.inputs.front().value);
    const auto producer = source ? graph[*source].producer : std::nullopt;
    return producer && only_used_in(facts, *source, {id}) &&
           (unsupported_pointwise(graph, graph[*producer]).empty() ||
            views_pointwise(graph, facts, *producer));
}

// Whether kernels can read what the node would add to the sides: along some dimension, elements
// must be neighbours in memory.
bool reads_contiguous(const Graph& graph, const Space& space, NodeId id) {
    return std::ranges::all_of(space.sides(), [&](const SideUse& side) {
        const auto& type = *graph[side.value].type;
        bool repeats = true;
        for (std::size_t i = 0; i < type.sizes.size(); ++i) {
            if (type.sizes[i] > 1 && type.strides[i] == 1) return true;
            repeats &= type.sizes[i] == 1 || type.strides[i] == 0;
        }
        return side.node != id || repeats;
    });
}

}  // namespace

void take_producers(const Graph& graph, const Facts& facts, Region& region,
                    std::set<NodeId>& nodes) {
    Space& space = region.anchor.space;
    std::int64_t limit = count(*graph[region.outputs.front()].type);
    if (region.anchor.node == kNoProduct)
        limit = std::max(limit, count(*graph[region.anchor.a].type));
    // As many producers again as operators after the product, which limits the time.
    for (bool changed = true; changed && nodes.size() < 2 * kMaxTaken;) {
        changed = false;
        for (const auto& side : space.sides()) {
            const auto producer = graph[side.value].producer;
            if (!producer) continue;
            // The product reads this value as an operand too, so it must be in memory.
            if (side.value == region.anchor.a || side.value == region.anchor.b) continue;
            // The addend of a product is loaded before any node of the region is written.
            if (is_anchor(graph[side.node])) continue;
            if (facts.after_product.contains(*producer)) continue;
            if (!only_used_in(facts, side.value, nodes)) continue;
            if (count(*graph[side.value].type) > limit) continue;
            if (is_anchor(graph[*producer])) {
                if (!take_second_linear(graph, region, *producer)) continue;
            } else {
                const bool views = graph::is_plain_view(graph[*producer]);
                if (views && !views_pointwise(graph, facts, *producer)) continue;
                Space grown = space;
                if (!grown.absorb_producer(graph, *producer).empty()) continue;
                if (!reads_contiguous(graph, grown, *producer)) continue;
                space = std::move(grown);
            }
            nodes.insert(*producer);
            changed = true;
            break;
        }
    }
}

}  // namespace fact::match
