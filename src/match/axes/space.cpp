#include "match/axes/space.h"

#include <algorithm>

#include "graph/operators.h"
#include "match/axes/anchor.h"
#include "match/operators/pointwise.h"
#include "match/operators/rowwise.h"

namespace fact::match {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

namespace {

const std::vector<std::int64_t>& sizes_of(const Graph& graph, ValueId value) {
    return graph[value].type->sizes;
}

// Whether the node copies a tensor, perhaps to a wider type.
bool keeps_numbers(const Graph& graph, const Node& node) {
    if (node.target == "aten.clone.default") return true;
    if (node.target != "aten._to_copy.default") return false;
    const DType from = graph[std::get<ValueId>(node.inputs[0].value)].type->dtype;
    const DType to = graph[node.outputs.front()].type->dtype;
    return from == to || (info(from).floating && to == DType::f32);
}

// The shape of what the node permutes, or views with more or fewer dimensions of one element;
// nullopt if it does something else.
std::optional<Shape> before_view(const Graph& graph, const Node& node, const Shape& placed) {
    const bool permutes = node.target == "aten.permute.default";
    if (!permutes && !graph::is_reshape(node)) return std::nullopt;
    const auto& sizes = sizes_of(graph, std::get<ValueId>(node.inputs.front().value));
    Shape shape(sizes.size());
    if (permutes) {
        const auto& dims = std::get<std::vector<std::int64_t>>(*graph::find_argument(node, "dims"));
        for (std::size_t i = 0; i < shape.size(); ++i)
            shape[static_cast<std::size_t>(dims[i])] = placed[i];
        return shape;
    }
    const auto& viewed = sizes_of(graph, node.outputs.front());
    std::size_t from = 0;
    for (std::size_t i = 0; i < viewed.size(); ++i) {
        if (viewed[i] == 1) continue;
        while (from < sizes.size() && sizes[from] == 1) ++from;
        if (from == sizes.size() || sizes[from] != viewed[i]) return std::nullopt;
        shape[from++] = placed[i];
    }
    return shape;
}

}  // namespace

Shape broadcast_shape(const graph::TensorType& type, const Shape& result) {
    Shape shape(type.sizes.size());
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (i >= result.size()) break;
        const std::size_t dim = shape.size() - 1 - i;
        const bool repeats = type.sizes[dim] == 1 || type.strides[dim] == 0;
        if (!repeats) shape[dim] = result[result.size() - 1 - i];
    }
    return shape;
}

Axis Space::add_axis(std::int64_t extent) {
    extents_.push_back(extent);
    return static_cast<Axis>(extents_.size() - 1);
}

void Space::place(ValueId value, Shape shape) {
    if (shapes_.empty()) product_size_ = num_elements(shape);
    shapes_[value] = std::move(shape);
}

void Space::add_side(const Graph& graph, NodeId node, std::string argument, ValueId value,
                     const Shape& result) {
    sides_.push_back(
        {node, std::move(argument), value, broadcast_shape(*graph[value].type, result)});
}

std::optional<Axis> Space::halved(ValueId value) const {
    const auto half = halves_.find(value);
    return half == halves_.end() ? std::nullopt : std::optional(half->second);
}

bool Space::is_halved(Axis axis) const {
    return std::ranges::any_of(halves_, [&](const auto& half) { return half.second == axis; });
}

bool Space::is_windowed(Axis axis) const {
    return std::ranges::any_of(windows_, [&](const auto& entry) {
        return std::ranges::any_of(entry.second.windows, [&](const AxisWindow& window) {
            return axis == window.of || axis == window.places || axis == window.taps;
        });
    });
}

std::string Space::absorb(const Graph& graph, NodeId id) {
    const Node& node = graph[id];
    if (const auto halving = read_halving(graph, node)) return absorb_halving(graph, id, *halving);
    if (const auto joining = read_joining(graph, node)) return absorb_joining(graph, id, *joining);
    if (node.target == "aten.permute.default" || graph::is_reshape(node))
        return absorb_view(graph, node);
    if (find_rowwise(node) && (!graph::pools(node) || unsupported_rowwise(graph, node).empty()))
        return absorb_rowwise(graph, id);
    if (graph::window_kind(node)) return absorb_windows(graph, id);
    const std::string reason = unsupported_pointwise(graph, node);
    return reason.empty() ? absorb_pointwise(graph, id) : reason;
}

std::string Space::absorb_pointwise(const Graph& graph, NodeId id) {
    const Node& node = graph[id];
    const ValueId result = node.outputs.front();
    const auto& sizes = sizes_of(graph, result);
    Shape shape(sizes.size());
    std::vector<bool> covered(sizes.size());
    std::optional<Axis> half;
    for (const auto& argument : node.inputs) {
        const auto* value = std::get_if<ValueId>(&argument.value);
        if (!value) continue;
        if (const auto producer = graph[*value].producer; !contains(*value) && producer)
            if (contains(graph[*producer].outputs.front()))
                return "it reads a further result of an operator, which kernels do not compute";
        if (!contains(*value)) continue;
        if (const auto axis = halved(*value)) {
            if (half && half != axis) return "it combines halves of two different splits";
            half = axis;
        }
        const Shape& operand = shapes_.at(*value);
        const auto& operand_sizes = sizes_of(graph, *value);
        for (std::size_t i = 0; i < operand.size(); ++i) {
            const std::size_t from = operand.size() - 1 - i, to = sizes.size() - 1 - i;
            if (operand_sizes[from] != sizes[to]) continue;
            if (covered[to] && shape[to] != operand[from])
                return "it combines a value with a reordering of itself";
            shape[to] = operand[from];
            covered[to] = true;
        }
    }
    // After a reduction, side operands may add dimensions; a product that was not reduced must keep
    // its size.
    const bool reduced = num_elements(shape) * (half ? 2 : 1) < product_size_;
    for (std::size_t i = 0; i < sizes.size(); ++i)
        if (!covered[i] && sizes[i] != 1) {
            if (!reduced) return "it broadcasts its operand to a larger shape";
            shape[i] = {add_axis(sizes[i])};
        }
    if (half && std::ranges::any_of(shape, [&](const auto& axes) {
            return std::ranges::find(axes, *half) != axes.end();
        }))
        return "it combines a half with the whole";
    if (num_elements(shape) > std::max({product_size_, num_elements(a), num_elements(b)}))
        return "it broadcasts its operand to a larger shape";
    for (const auto& argument : node.inputs) {
        const auto* value = std::get_if<ValueId>(&argument.value);
        if (value && !contains(*value)) add_side(graph, id, argument.name, *value, shape);
    }
    if (half) halves_[result] = *half;
    if (keeps_numbers(graph, node) && exact_.contains(std::get<ValueId>(node.inputs[0].value)))
        exact_.insert(result);
    place(result, std::move(shape));
    return "";
}

std::int64_t Space::num_elements(const Shape& shape) const {
    std::int64_t product = 1;
    for (const auto& axes : shape)
        for (const Axis axis : axes) product *= extent(axis);
    return product;
}

std::string Space::absorb_view(const Graph& graph, const Node& node) {
    const ValueId source = std::get<ValueId>(node.inputs.front().value);
    const ValueId result = node.outputs.front();
    const Shape from = shapes_.at(source);
    const auto& sizes = sizes_of(graph, result);
    Shape shape(sizes.size());
    if (const auto axis = halved(source)) halves_[result] = *axis;
    if (exact_.contains(source)) exact_.insert(result);
    if (node.target == "aten.permute.default") {
        const auto& dims = std::get<std::vector<std::int64_t>>(*graph::find_argument(node, "dims"));
        for (std::size_t i = 0; i < shape.size(); ++i)
            shape[i] = from[static_cast<std::size_t>(dims[i])];
        place(result, std::move(shape));
        return "";
    }
    auto viewed = regrouped(from, sizes);
    if (!viewed) return viewed.error().message;
    place(result, std::move(*viewed));
    return "";
}

Result<Shape> Space::regrouped(const Shape& from, const std::vector<std::int64_t>& sizes) {
    const Error regroups{"it regroups dimensions", ""};
    Shape shape(sizes.size());
    std::vector<Axis> wide, unit;  // axes not yet assigned, the next one last
    for (const auto& axes : from)
        for (const Axis axis : axes) (extent(axis) == 1 ? unit : wide).push_back(axis);
    std::ranges::reverse(wide);
    std::ranges::reverse(unit);
    for (std::size_t i = 0; i < shape.size(); ++i) {
        std::int64_t left = sizes[i];
        if (left == 1 && !unit.empty()) {
            shape[i].push_back(unit.back());
            unit.pop_back();
        }
        while (left > 1) {
            if (wide.empty()) return Error{"it reshapes across dimensions", ""};
            const Axis axis = wide.back();
            wide.pop_back();
            if (extent(axis) > left) {
                if (extent(axis) % left != 0 || is_windowed(axis)) return regroups;
                const Axis inner = static_cast<Axis>(extents_.size());
                split(axis, extent(axis) / left);
                wide.push_back(inner);
            }
            if (left % extent(axis) != 0) return regroups;
            left /= extent(axis);
            shape[i].push_back(axis);
        }
    }
    return shape;
}

std::optional<Shape> Space::orientation(ValueId side_value) const {
    std::optional<Shape> shape;
    for (const auto& side : sides_) {
        if (side.value != side_value) continue;
        if (shape && *shape != side.shape) return std::nullopt;
        shape = side.shape;
    }
    return shape;
}

std::string Space::absorb_second_linear(const Graph& graph, const Anchor& linear) {
    const auto placed = orientation(linear.result);
    if (!placed) return "it is used in two orientations";
    if (placed->size() != a.size() || placed->back() != b.front() ||
        !std::equal(placed->begin(), placed->end() - 1, a.begin()))
        return "it is used in another orientation than the product";
    place(linear.result, *placed);
    std::erase_if(sides_, [&](const SideUse& side) { return side.value == linear.result; });
    add_side({linear.node, "weight", linear.b, b});
    if (linear.addend) add_side(graph, linear.node, "bias", *linear.addend, *placed);
    return "";
}

std::string Space::absorb_producer(const Graph& graph, NodeId id) {
    const Node& node = graph[id];
    const ValueId result = node.outputs.front();
    const auto oriented = orientation(result);
    if (!oriented) return "it is used in two orientations";
    Shape placed = *oriented;
    if (auto source = before_view(graph, node, placed)) {
        place(result, std::move(placed));
        std::erase_if(sides_, [&](const SideUse& side) { return side.value == result; });
        const graph::NamedArgument& read = node.inputs.front();
        add_side({id, read.name, std::get<ValueId>(read.value), std::move(*source)});
        return "";
    }
    if (std::string reason = unsupported_pointwise(graph, node); !reason.empty()) return reason;
    place(result, placed);
    std::erase_if(sides_, [&](const SideUse& side) { return side.value == result; });
    for (const auto& argument : node.inputs) {
        const auto* value = std::get_if<ValueId>(&argument.value);
        if (value && !contains(*value)) add_side(graph, id, argument.name, *value, placed);
    }
    return "";
}

void Space::split(Axis axis, std::int64_t inner) {
    const Axis added = add_axis(inner);
    extents_[static_cast<std::size_t>(axis)] /= inner;
    const auto refine = [&](Shape& shape) {
        for (auto& axes : shape) {
            const auto at = std::ranges::find(axes, axis);
            if (at != axes.end()) axes.insert(at + 1, added);
        }
    };
    refine(a);
    refine(b);
    for (auto& [value, shape] : shapes_) refine(shape);
    for (auto& side : sides_) refine(side.shape);
    for (auto& [node, groups] : groups_) refine(groups);
    for (auto& [node, windows] : windows_) {
        Shape lists{windows.whole, windows.features, windows.channels};
        refine(lists);
        windows.whole = lists[0], windows.features = lists[1], windows.channels = lists[2];
    }
}

}  // namespace fact::match
