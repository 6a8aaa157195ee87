#include "match/anchor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace fact::match {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::TensorType;
using graph::ValueId;

namespace {

struct Row {
    std::string_view target, rule, a, b, addend;
};
constexpr std::array<Row, 6> kAnchors{{
    {"aten.linear.default", "linear", "input", "weight", "bias"},
    {"aten.addmm.default", "addmm", "mat1", "mat2", "self"},
    {"aten.mm.default", "mm", "self", "mat2", ""},
    {"aten.bmm.default", "bmm", "self", "mat2", ""},
    {"aten.baddbmm.default", "baddbmm", "batch1", "batch2", "self"},
    {"aten.matmul.default", "matmul", "self", "other", ""},
}};

const Row* find_row(const Node& node) {
    const auto row = std::ranges::find(kAnchors, node.target, &Row::target);
    return row == kAnchors.end() ? nullptr : &*row;
}

std::optional<ValueId> tensor(const Node& node, std::string_view name) {
    const auto* argument = graph::find_argument(node, name);
    if (!argument) return std::nullopt;
    if (const auto* value = std::get_if<ValueId>(argument)) return *value;
    return std::nullopt;
}

std::optional<double> number(const Node& node, std::string_view name) {
    const auto* argument = graph::find_argument(node, name);
    if (!argument) return 1.0;
    if (const auto* integer = std::get_if<std::int64_t>(argument))
        return static_cast<double>(*integer);
    if (const auto* real = std::get_if<double>(argument)) return *real;
    return std::nullopt;
}

std::string unusable(const Graph& graph, ValueId id) {
    const auto& type = graph[id].type;
    if (!type) return fmt::format("{} is not a tensor", graph[id].name);
    if (type->dynamic) return fmt::format("the extents of {} vary at run time", graph[id].name);
    if (std::ranges::find(type->sizes, 0) != type->sizes.end())
        return fmt::format("{} is empty", graph[id].name);
    return "";
}

// The operand's axes: its last two dimensions are `rows` and `columns`, those before are the
// result's, matched from the right.
Shape operand_shape(const TensorType& type, const Shape& result, Axis rows, Axis columns) {
    const std::size_t rank = type.sizes.size();
    Shape shape(rank);
    shape[rank - 2] = {rows};
    shape[rank - 1] = {columns};
    for (std::size_t i = 2; i < rank; ++i) {
        const auto& axes = result[result.size() - 1 - i];
        const std::size_t own = rank - 1 - i;
        // Expanded and repeated dimensions cost nothing when the kernel does not know of them.
        if (type.sizes[own] > 1 && type.strides[own] != 0) shape[own] = axes;
    }
    return shape;
}

}  // namespace

bool is_anchor(const Node& node) {
    return find_row(node) != nullptr;
}

Result<Anchor> read_anchor(const Graph& graph, NodeId id) {
    const Node& node = graph[id];
    const Row& row = *find_row(node);
    const auto a = tensor(node, row.a), b = tensor(node, row.b);
    const auto alpha = number(node, "alpha"), beta = number(node, "beta");
    if (!a || !b || !alpha || !beta || node.outputs.size() != 1)
        return Error{"its arguments are not plain tensors and numbers", ""};
    Anchor anchor;
    anchor.node = id;
    anchor.rule = row.rule;
    anchor.a = *a;
    anchor.b = *b;
    anchor.result = node.outputs.front();
    anchor.alpha = *alpha;
    anchor.beta = *beta;
    if (!row.addend.empty()) anchor.addend = tensor(node, row.addend);

    for (const ValueId value : {anchor.a, anchor.b, anchor.result})
        if (std::string reason = unusable(graph, value); !reason.empty()) return Error{reason, ""};
    const TensorType &ta = *graph[anchor.a].type, &tb = *graph[anchor.b].type;
    const TensorType& result = *graph[anchor.result].type;
    if (ta.dtype != tb.dtype)
        return Error{
            fmt::format("its operands are {} and {}", info(ta.dtype).name, info(tb.dtype).name),
            ""};
    if (ta.dtype != DType::bf16 && ta.dtype != DType::f16 && ta.dtype != DType::f32)
        return Error{fmt::format("products of {} are left to torch", info(ta.dtype).name), ""};
    if (ta.sizes.size() < 2 || tb.sizes.size() < 2)
        return Error{"one of its operands is a vector", ""};

    Space& space = anchor.space;
    Shape shape;
    for (const auto size : result.sizes) shape.push_back({space.add_axis(size)});
    anchor.k = space.add_axis(ta.sizes.back());
    const Axis m = shape[shape.size() - 2].front(), n = shape.back().front();
    space.a = operand_shape(ta, shape, m, anchor.k);
    space.b = row.rule == "linear" ? Shape{{n}, {anchor.k}} : operand_shape(tb, shape, anchor.k, n);
    if (anchor.addend && anchor.beta != 0)
        space.add_side(graph, id, std::string(row.addend), *anchor.addend, shape);
    space.place(anchor.result, std::move(shape));
    return anchor;
}

}  // namespace fact::match
