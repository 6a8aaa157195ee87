#include "match/axes/anchor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include "graph/arguments.h"
#include "graph/windows.h"

namespace fact::match {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ProductForm;
using graph::TensorType;
using graph::ValueId;

namespace {

// Torch's alpha or beta: 1 if it was left out.
std::optional<double> factor(const Node& node, std::string_view name) {
    return graph::find_argument(node, name) ? graph::number_argument(node, name) : 1.0;
}

// Why no kernel can read or write the value, or "".
std::string unusable(const Graph& graph, ValueId id) {
    const auto& type = graph[id].type;
    if (!type) return fmt::format("{} is not a tensor", graph[id].name);
    if (type->dynamic) return fmt::format("the extents of {} vary at run time", graph[id].name);
    if (std::ranges::find(type->sizes, 0) != type->sizes.end())
        return fmt::format("{} is empty", graph[id].name);
    return "";
}

// The operand's axes: `rows` and `columns` for its last two dimensions, for those before them the
// result's batch axes, matched from the right.
Shape operand_shape(const TensorType& type, const Shape& result, Axis rows, Axis columns) {
    const std::size_t rank = type.sizes.size();
    Shape shape(rank);
    shape[rank - 2] = {rows};
    shape[rank - 1] = {columns};
    for (std::size_t i = 2; i < rank; ++i) {
        const auto& axes = result[result.size() - 1 - i];
        const std::size_t dim = rank - 1 - i;
        // A broadcast dimension gets no axes, so that the kernel reads its elements only once.
        if (type.sizes[dim] > 1 && type.strides[dim] != 0) shape[dim] = axes;
    }
    return shape;
}

// Names the axes of a product of matrices, batched or not.
std::string place_matrices(const Graph& graph, Anchor& anchor) {
    const TensorType &ta = *graph[anchor.a].type, &tb = *graph[anchor.b].type;
    if (ta.sizes.size() < 2 || tb.sizes.size() < 2) return "one of its operands is a vector";
    Space& space = anchor.space;
    Shape shape;
    for (const auto size : graph[anchor.result].type->sizes)
        shape.push_back({space.add_axis(size)});
    anchor.k = space.add_axis(ta.sizes.back());
    const Axis m = shape[shape.size() - 2].front(), n = shape.back().front();
    space.a = operand_shape(ta, shape, m, anchor.k);
    space.b = anchor.form == ProductForm::linear ? Shape{{n}, {anchor.k}}
                                                 : operand_shape(tb, shape, anchor.k, n);
    space.place(anchor.result, std::move(shape));
    return "";
}

// Whether all integers of the argument are `wanted`, or the argument is absent.
bool all_equal(const Node& node, std::string_view name, std::int64_t wanted) {
    const auto* argument = graph::find_argument(node, name);
    if (!argument) return true;
    const auto* list = std::get_if<std::vector<std::int64_t>>(argument);
    return list && std::ranges::all_of(*list, [&](auto x) { return x == wanted; });
}

// A convolution of one tap is a product: weight[O, C] by input[B, C, pixels].
std::string place_convolution(const Graph& graph, Anchor& anchor) {
    const Node& node = graph[anchor.node];
    const auto& weight = graph[anchor.a].type->sizes;
    const auto& input = graph[anchor.b].type->sizes;
    const bool plain = weight.size() >= 3 && input.size() == weight.size() &&
                       std::all_of(weight.begin() + 2, weight.end(),
                                   [](std::int64_t taps) { return taps == 1; }) &&
                       all_equal(node, "stride", 1) && all_equal(node, "padding", 0) &&
                       graph::int_argument(node, "groups").value_or(1) == 1;
    if (!plain) return "its windows have more than one tap";
    Space& space = anchor.space;
    Shape shape;
    for (const auto size : graph[anchor.result].type->sizes)
        shape.push_back({space.add_axis(size)});
    anchor.k = space.add_axis(input[1]);
    space.a.assign(weight.size(), {});
    space.a[0] = shape[1], space.a[1] = {anchor.k};
    space.b = shape;
    space.b[1] = {anchor.k};
    if (anchor.addend) space.add_side({anchor.node, "bias", *anchor.addend, {shape[1]}});
    space.place(anchor.result, std::move(shape));
    return "";
}

// "bijl,lk->bijk": sums over one letter; all other letters are in the result.
std::string place_einsum(const Graph& graph, Anchor& anchor) {
    static constexpr const char* kUnsupported =
        "only einsums of two tensors that sum over one index are fused";
    const auto read = graph::read_einsum(graph[anchor.node]);
    if (!read || read->inputs.size() != 2) return kUnsupported;
    const std::string &first = read->inputs[0], &second = read->inputs[1], &result = read->result;
    Space& space = anchor.space;
    std::map<char, Axis> axes;
    bool summed = false;
    const auto shape_of = [&](const std::string& letters, ValueId value) -> std::optional<Shape> {
        const TensorType& type = *graph[value].type;
        if (letters.size() != type.sizes.size()) return std::nullopt;
        Shape shape;
        for (std::size_t i = 0; i < letters.size(); ++i) {
            if (letters.find(letters[i]) != i ||
                !std::isalpha(static_cast<unsigned char>(letters[i])))
                return std::nullopt;
            if (!axes.contains(letters[i])) axes[letters[i]] = space.add_axis(type.sizes[i]);
            if (space.extent(axes[letters[i]]) != type.sizes[i]) return std::nullopt;
            shape.push_back({axes[letters[i]]});
        }
        return shape;
    };
    const auto out = shape_of(result, anchor.result), a = shape_of(first, anchor.a),
               b = shape_of(second, anchor.b);
    if (!out || !a || !b) return kUnsupported;
    for (const auto& [letter, axis] : axes) {
        if (result.find(letter) != result.npos) continue;
        const bool both = first.find(letter) != first.npos && second.find(letter) != second.npos;
        if (summed || !both) return kUnsupported;
        summed = true;
        anchor.k = axis;
    }
    if (!summed) return kUnsupported;
    space.a = *a;
    space.b = *b;
    space.place(anchor.result, *out);
    return "";
}

// Names the axes of operands and result. Returns why that is impossible, or "".
std::string place(const Graph& graph, Anchor& anchor) {
    switch (anchor.form) {
        case ProductForm::matrices:
        case ProductForm::linear:
            return place_matrices(graph, anchor);
        case ProductForm::convolution:
            return place_convolution(graph, anchor);
        case ProductForm::einsum:
            return place_einsum(graph, anchor);
    }
    throw InternalError("place: no such form of a product");
}

}  // namespace

bool is_anchor(const Node& node) {
    if (graph::pools(node)) return false;  // a convolution of each channel by itself
    return graph::find_product(node) != nullptr;
}

Result<Anchor> read_anchor(const Graph& graph, NodeId id) {
    const Node& node = graph[id];
    const graph::ProductOp& product = *graph::find_product(node);
    const auto reads = graph::tensor_inputs(node);
    // Einsum has its two operands in one argument, a list.
    const bool listed = product.form == ProductForm::einsum && reads.size() == 2;
    const std::optional<ValueId> a = listed ? reads[0] : graph::tensor_argument(node, product.a),
                                 b = listed ? reads[1] : graph::tensor_argument(node, product.b);
    const auto alpha = factor(node, "alpha"), beta = factor(node, "beta");
    if (!a || !b || !alpha || !beta || node.outputs.size() != 1)
        return Error{"its arguments are not plain tensors and numbers", ""};
    Anchor anchor;
    anchor.node = id;
    anchor.rule = product.rule;
    anchor.form = product.form;
    anchor.a = *a;
    anchor.b = *b;
    anchor.result = node.outputs.front();
    anchor.alpha = *alpha;
    anchor.beta = *beta;
    if (!product.addend.empty()) anchor.addend = graph::tensor_argument(node, product.addend);

    for (const ValueId value : {anchor.a, anchor.b, anchor.result})
        if (std::string reason = unusable(graph, value); !reason.empty()) return Error{reason, ""};
    const TensorType &ta = *graph[anchor.a].type, &tb = *graph[anchor.b].type;
    if (ta.dtype != tb.dtype)
        return Error{fmt::format("its operands have different element types, {} and {}",
                                 info(ta.dtype).name, info(tb.dtype).name),
                     ""};
    if (ta.dtype != DType::bf16 && ta.dtype != DType::f16 && ta.dtype != DType::f32)
        return Error{fmt::format("products of {} are left to torch", info(ta.dtype).name), ""};
    const std::string reason = place(graph, anchor);
    if (!reason.empty()) return Error{reason, ""};
    if (anchor.addend && anchor.beta != 0 && product.form != ProductForm::convolution)
        anchor.space.add_side(graph, id, std::string(product.addend), *anchor.addend,
                              anchor.space.shape(anchor.result));
    return anchor;
}

}  // namespace fact::match
