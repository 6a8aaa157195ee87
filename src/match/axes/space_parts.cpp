// Operators that work on a part of a dimension or along one: those that take and join halves, and
// row-wise ones. Functions of Space (space.h).
#include <algorithm>

#include "graph/operators.h"
#include "match/axes/space.h"
#include "match/operators/places.h"
#include "match/operators/rowwise.h"

namespace fact::match {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

namespace {

template <class List, class Item>
bool holds(const List& list, const Item& item) {
    return std::ranges::find(list, item) != list.end();
}

}  // namespace

std::string Space::absorb_halving(const Graph& graph, NodeId id, const graph::Halving& halving) {
    if (halved(halving.source)) return "it takes a part of a half";
    const auto& sizes = graph[halving.source].type->sizes;
    // The two halves become an axis of their own.
    const bool outer = halving.place == graph::HalfPlace::outer;
    const std::int64_t inner = outer ? sizes[halving.dim] / 2 : 2;
    const auto begin = begin_of_part(halving.source, halving.dim, inner);
    if (!begin) return "it regroups dimensions";
    Shape shape = shapes_.at(halving.source);
    auto& axes = shape[halving.dim];
    std::vector<Axis> wide;
    for (const Axis axis : axes)
        if (extent(axis) > 1) wide.push_back(axis);
    if (wide.empty()) return "it takes a part of a broadcast dimension";
    const Axis axis = outer ? wide.front() : wide.back();
    if (extent(axis) != 2) return "it takes a part of the product";
    const bool in_rows = std::ranges::any_of(a, [&](const auto& dim) { return holds(dim, axis); });
    if (in_rows) return "it takes a part of the product's rows";
    std::erase(axes, axis);
    if (halving.place == graph::HalfPlace::single)
        shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(halving.dim));
    groups_[id] = {{axis}};
    for (const ValueId value : graph[id].outputs) {
        halves_[value] = axis;
        place(value, shape);
    }
    return "";
}

std::string Space::absorb_joining(const Graph& graph, NodeId id, const graph::Joining& joining) {
    for (const ValueId half : joining.halves)
        if (!contains(half)) return "it joins the product with something else";
    const auto axis = halved(joining.halves[0]);
    if (!axis || axis != halved(joining.halves[1]))
        return "it joins tensors that are not the two halves of one tensor";
    Shape shape = shapes_.at(joining.halves[0]);
    if (shape != shapes_.at(joining.halves[1])) return "it joins halves with different layouts";
    const auto at = shape.begin() + static_cast<std::ptrdiff_t>(joining.dim);
    if (joining.adds_dim)
        shape.insert(at, {*axis});
    else
        at->insert(at->begin(), *axis);
    groups_[id] = {{*axis}};
    place(graph[id].outputs.front(), std::move(shape));
    return "";
}

std::string Space::absorb_rowwise(const Graph& graph, NodeId id) {
    const Node& node = graph[id];
    if (std::string reason = unsupported_rowwise(graph, node); !reason.empty()) return reason;
    const RowwiseOp& op = *find_rowwise(node);
    const ValueId source = std::get<ValueId>(node.inputs.front().value);
    if (!contains(source)) return "its first input is not computed from the product";
    if (halved(source)) return "it reduces over one of two halves";
    // Two results that differ in the last bit, ours and torch's, may be largest in another order.
    const bool places = finds_places(node), exact = exact_.contains(source);
    if (places && !exact && node.outputs.size() == 1)
        return "it looks for a place in values that are not rounded as torch's are";
    const auto wanted = dim_groups(graph, node);
    // Where each group's part begins. All are found before axes are listed, because begin_of_part()
    // may split axes.
    std::vector<std::size_t> begin;
    for (const DimGroup& group : *wanted) {
        const auto at = group.part ? begin_of_part(source, group.part->dim, group.part->extent) : 0;
        if (!at) return "it regroups dimensions";
        begin.push_back(*at);
    }
    const Shape from = shapes_.at(source);
    AxisGroups groups;
    for (std::size_t i = 0; i < wanted->size(); ++i) {
        const DimGroup& group = (*wanted)[i];
        auto& axes = groups.emplace_back();
        for (const std::size_t dim : group.dims)
            axes.insert(axes.end(), from[dim].begin(), from[dim].end());
        if (!group.part) continue;
        const auto& whole = from[group.part->dim];
        axes.insert(axes.end(), whole.begin() + static_cast<std::ptrdiff_t>(begin[i]), whole.end());
    }
    Shape shape;
    const bool keeps_rank = graph[node.outputs.front()].type->sizes.size() == from.size();
    for (std::size_t dim = 0; dim < from.size(); ++dim) {
        auto axes = from[dim];
        if (op.reduces) std::erase_if(axes, [&](Axis axis) { return holds(groups[0], axis); });
        const bool reduced = op.reduces && holds((*wanted)[0].dims, dim);
        if (keeps_rank || !reduced) shape.push_back(std::move(axes));
    }
    // The shape of targets that are the numbers of classes.
    Shape samples = from;
    if (graph::facts_of(node).along == graph::Along::classes)
        samples.erase(samples.begin() + static_cast<std::ptrdiff_t>((*wanted)[1].dims.front()));
    // The shape of parameters that run along dimension 1.
    const Shape channel{from.size() > 1 ? from[1] : std::vector<Axis>{}};
    for (const auto& argument : node.inputs) {
        const auto* value = std::get_if<ValueId>(&argument.value);
        if (!value || *value == source) continue;
        if (contains(*value)) {  // the target of a loss may come of the same tensor as its input
            if (shapes_.at(*value) == samples && !has_channel_params(node)) continue;
            return "its parameters are computed from its input";
        }
        if (has_channel_params(node))
            add_side({id, argument.name, *value, channel});
        else
            add_side(graph, id, argument.name, *value, samples);
    }
    groups_[id] = std::move(groups);
    if (places && exact && node.outputs.size() == 2 && unsupported_places(graph, node).empty())
        place(node.outputs[1], shape);
    place(node.outputs.front(), std::move(shape));
    // The statistics, if the operator returns them too.
    if (has_channel_params(node))
        for (std::size_t i = 1; i < node.outputs.size(); ++i)
            if (graph[node.outputs[i]].type->sizes.size() == 1) place(node.outputs[i], channel);
    return "";
}

std::string Space::absorb_windows(const Graph& graph, NodeId id) {
    const auto read = graph::read_windows(graph, graph[id]);
    if (!read) return read.error().message;
    const bool convolves = read->kind == graph::WindowKind::convolution;
    if (convolves && convolution != id) return "a convolution begins a pattern of its own";
    if (!contains(read->source)) return "its first input is not computed from the product";
    if (halved(read->source)) return "it sees one of two halves through windows";
    const Shape from = shapes_.at(read->source);
    const auto& sizes = graph[read->source].type->sizes;
    Shape shape = from;
    AxisWindows found;
    found.transposed = read->transposed;
    Shape taps;
    for (const graph::WindowDim& dim : read->dims) {
        const bool whole = dim.taps == sizes[dim.dim] && dim.places == 1 && dim.before == 0;
        if (whole && !read->weight) {
            found.whole.insert(found.whole.end(), from[dim.dim].begin(), from[dim.dim].end());
            shape[dim.dim].clear();
            continue;
        }
        const bool sees_itself =
            dim.taps == 1 && dim.stride == 1 && dim.before == 0 && dim.after == 0;
        if (sees_itself && !convolves) {  // a product's operands have all windowed dimensions
            taps.push_back({});
            continue;
        }
        std::vector<Axis> wide;
        for (const Axis axis : from[dim.dim])
            if (extent(axis) > 1) wide.push_back(axis);
        if (wide.size() != 1 || dim.places == 1)
            return "its windows go over a part of a dimension, or only one fits";
        const AxisWindow window{wide.front(), add_axis(dim.places), add_axis(dim.taps), dim};
        shape[dim.dim] = {window.places};
        taps.push_back({window.taps});
        found.windows.push_back(window);
    }
    const std::size_t channel_dim = from.size() - read->dims.size() - 1;
    if (convolves) {
        const Axis features = add_axis(graph[*read->weight].type->sizes[read->transposed ? 1 : 0]);
        shape[channel_dim] = found.features = {features};
        found.channels = from[channel_dim];
    }
    if (read->weight) {
        Shape weight{shape[channel_dim], found.channels};
        if (read->transposed) std::swap(weight[0], weight[1]);
        weight.insert(weight.end(), taps.begin(), taps.end());
        add_side({id, "weight", *read->weight, std::move(weight)});
        if (read->bias) add_side({id, "bias", *read->bias, {shape[channel_dim]}});
    }
    windows_[id] = std::move(found);
    if (convolves) product_size_ = std::max(product_size_, num_elements(shape));
    place(graph[id].outputs.front(), std::move(shape));
    return "";
}

std::optional<std::size_t> Space::begin_of_part(ValueId value, std::size_t dim,
                                                std::int64_t extent) {
    std::int64_t inner = 1;
    const std::vector<Axis> axes = shapes_.at(value)[dim];
    for (std::size_t i = axes.size(); i-- > 0;) {
        if (inner == extent) return i + 1;
        const std::int64_t axis_extent = this->extent(axes[i]);
        if (extent % (inner * axis_extent) == 0) {
            inner *= axis_extent;
            continue;
        }
        const std::int64_t left = extent / inner;
        if (extent % inner != 0 || axis_extent % left != 0 || is_windowed(axes[i]))
            return std::nullopt;
        split(axes[i], left);
        return i + 1;
    }
    return inner == extent ? std::optional<std::size_t>(0) : std::nullopt;
}

}  // namespace fact::match
