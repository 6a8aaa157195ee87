#include "graph/normalize.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "graph/identity.h"

namespace fact::graph {

namespace {

using Ints = std::vector<std::int64_t>;

NamedArgument* find_mutable(Node& node, std::string_view name) {
    for (NamedArgument& input : node.inputs)
        if (input.name == name) return &input;
    return nullptr;
}

// The integer argument `name`; `fallback` if it was left out or is None; nullopt if it is something
// else.
std::optional<std::int64_t> int_argument(const Node& node, std::string_view name,
                                         std::int64_t fallback) {
    const Argument* argument = find_argument(node, name);
    if (argument == nullptr || std::holds_alternative<None>(*argument)) return fallback;
    const auto* value = std::get_if<std::int64_t>(argument);
    return value == nullptr ? std::nullopt : std::optional(*value);
}

void set_argument(Node& node, std::string_view name, Argument value) {
    if (NamedArgument* found = find_mutable(node, name))
        found->value = std::move(value);
    else
        node.inputs.push_back({std::string(name), std::move(value), false});
}

// The type of the first argument; nullptr if it is not a tensor of known type.
const TensorType* self_type(const Graph& graph, const Node& node) {
    if (node.inputs.empty()) return nullptr;
    const auto* id = std::get_if<ValueId>(&node.inputs[0].value);
    return id == nullptr || !graph[*id].type ? nullptr : &*graph[*id].type;
}

const TensorType* output_type(const Graph& graph, const Node& node) {
    if (node.outputs.empty() || !graph[node.outputs[0]].type) return nullptr;
    return &*graph[node.outputs[0]].type;
}

// The dimension counted from the left; one that is out of range is returned unchanged. As in torch,
// a scalar counts as one dimension.
std::int64_t wrap(std::int64_t dim, std::int64_t rank) {
    const std::int64_t extent = std::max<std::int64_t>(rank, 1);
    return dim < 0 && dim >= -extent ? dim + extent : dim;
}

std::int64_t rank_of(const TensorType& type) {
    return static_cast<std::int64_t>(type.sizes.size());
}

// The two dimensions an operator swaps, negative ones counted from the end.
std::optional<std::pair<std::int64_t, std::int64_t>> swapped_dims(const Node& node,
                                                                  std::int64_t rank) {
    constexpr auto kMissing = std::numeric_limits<std::int64_t>::max();  // in no tensor's range
    const std::string_view name = aten_name(node.target);
    if ((name == "t" && rank == 2) || (name == "mT" && rank >= 2))
        return std::pair{rank - 2, rank - 1};
    const bool axes = name == "swapaxes";
    if (node.target != "aten.transpose.int" && name != "swapdims" && !axes) return std::nullopt;
    const auto a = int_argument(node, axes ? "axis0" : "dim0", kMissing);
    const auto b = int_argument(node, axes ? "axis1" : "dim1", kMissing);
    if (!a || !b) return std::nullopt;
    const std::pair dims{wrap(*a, rank), wrap(*b, rank)};
    const auto inside = [&](std::int64_t dim) { return dim >= 0 && dim < rank; };
    return inside(dims.first) && inside(dims.second) ? std::optional(dims) : std::nullopt;
}

void make_permute(const Graph& graph, Node& node) {
    const TensorType* self = self_type(graph, node);
    if (self == nullptr) return;
    const auto swapped = swapped_dims(node, rank_of(*self));
    if (!swapped) return;
    Ints order(self->sizes.size());
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[static_cast<std::size_t>(swapped->first)],
              order[static_cast<std::size_t>(swapped->second)]);
    node.target = "aten.permute.default";
    node.inputs.resize(1);
    node.inputs.push_back({"dims", std::move(order), false});
}

// A cast to another tensor's type does not read that tensor.
void make_cast(const Graph& graph, Node& node) {
    if (node.target != "aten.type_as.default") return;
    const TensorType *self = self_type(graph, node), *result = output_type(graph, node);
    if (self == nullptr || result == nullptr || self->device != result->device) return;
    node.target = "aten._to_copy.default";
    node.inputs.resize(1);
    node.inputs.push_back({"dtype", DTypeArg{result->dtype}, true});
}

// A concatenation of one tensor with empty ones only copies that tensor.
void make_clone(const Graph& graph, Node& node) {
    const TensorType* result = output_type(graph, node);
    if (node.target != "aten.cat.default" || result == nullptr || result->dynamic) return;
    std::optional<ValueId> source;
    for (const ValueId value : tensor_inputs(node)) {
        const auto& type = graph[value].type;
        if (!type || type->dynamic) return;
        if (std::ranges::find(type->sizes, 0) != type->sizes.end()) continue;
        if (source) return;
        source = value;
    }
    if (!source) return;
    const TensorType& copied = *graph[*source].type;
    if (copied.sizes != result->sizes || copied.dtype != result->dtype) return;
    if (!is_dense(*result) && copied.strides != result->strides) return;
    node.target = "aten.clone.default";
    node.inputs = {{"self", *source, false}};
    if (copied.strides != result->strides)
        node.inputs.push_back({"memory_format", MemoryFormatArg{1}, true});  // contiguous
}

// A tensor of one number that has another tensor's sizes does not read that tensor.
void make_full(const Graph& graph, Node& node) {
    constexpr std::array<std::pair<std::string_view, std::optional<std::int64_t>>, 6> kLike{
        {{"zeros_like", 0},
         {"new_zeros", 0},
         {"ones_like", 1},
         {"new_ones", 1},
         {"full_like", {}},
         {"new_full", {}}}};
    const auto like =
        std::ranges::find(kLike, aten_name(node.target), [](const auto& row) { return row.first; });
    const TensorType *self = self_type(graph, node), *result = output_type(graph, node);
    if (like == kLike.end() || self == nullptr || result == nullptr || result->dynamic ||
        self->device != result->device || !is_dense(*result))
        return;
    const Argument* given = find_argument(node, "fill_value");
    if (!like->second && (given == nullptr || std::holds_alternative<ValueId>(*given))) return;
    const Argument value = like->second ? Argument{*like->second} : *given;
    node.target = "aten.full.default";
    node.inputs = {{"size", result->sizes, false},
                   {"fill_value", value, false},
                   {"dtype", DTypeArg{result->dtype}, true},
                   {"device", DeviceArg{result->device}, true}};
}

// Operators that are traced under another name for the same with the same arguments: Python's own
// for `&`, `|` and `^`, and the aliases of NumPy and of other frameworks.
void drop_alias(Node& node) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 17> kAliases{
        {{"__and__", "bitwise_and"},
         {"__or__", "bitwise_or"},
         {"__xor__", "bitwise_xor"},
         {"absolute", "abs"},
         {"clip", "clamp"},
         {"concat", "cat"},
         {"concatenate", "cat"},
         {"divide", "div"},
         {"greater", "gt"},
         {"greater_equal", "ge"},
         {"less", "lt"},
         {"less_equal", "le"},
         {"multiply", "mul"},
         {"negative", "neg"},
         {"not_equal", "ne"},
         {"subtract", "sub"},
         {"true_divide", "div"}}};
    for (const auto& [alias, plain] : kAliases)
        if (aten_name(node.target) == alias)
            node.target =
                fmt::format("aten.{}{}", plain, node.target.substr(node.target.rfind('.')));
}

// The rank to which an operator's dims refer; nullopt if that is not certain.
std::optional<std::int64_t> dim_rank(const Graph& graph, const Node& node) {
    const std::string_view name = aten_name(node.target);
    // In weight norm a negative dim means something else; in cosine_similarity it counts in what
    // two tensors broadcast to; in backward operators it is another tensor's dim.
    if (name.empty() || name.find("weight_norm") != name.npos || name == "norm_except_dim" ||
        name == "cosine_similarity" || name.ends_with("_backward"))
        return std::nullopt;
    const bool counts_in_result =
        name == "unsqueeze" || name == "stack" || name == "cat" || name == "concat";
    const TensorType* type = counts_in_result ? output_type(graph, node) : self_type(graph, node);
    return type == nullptr ? std::nullopt : std::optional(rank_of(*type));
}

void wrap_dims(const Graph& graph, Node& node) {
    const auto rank = dim_rank(graph, node);
    if (!rank) return;
    for (const std::string_view name : {"dim", "dims", "start_dim", "end_dim"}) {
        NamedArgument* argument = find_mutable(node, name);
        if (argument == nullptr) continue;
        if (auto* one = std::get_if<std::int64_t>(&argument->value)) *one = wrap(*one, *rank);
        if (auto* many = std::get_if<Ints>(&argument->value))
            for (std::int64_t& dim : *many) dim = wrap(dim, *rank);
    }
}

// The extent of the dimension that argument "dim" names.
std::optional<std::int64_t> extent_along_dim(const Graph& graph, const Node& node) {
    const TensorType* self = self_type(graph, node);
    const auto dim = int_argument(node, "dim", 0);
    if (self == nullptr || self->dynamic || !dim || *dim < 0 || *dim >= rank_of(*self))
        return std::nullopt;
    return self->sizes[static_cast<std::size_t>(*dim)];
}

void make_slice_explicit(const Graph& graph, Node& node) {
    const auto extent = extent_along_dim(graph, node);
    if (!extent) return;
    const auto dim = int_argument(node, "dim", 0), step = int_argument(node, "step", 1);
    auto start = int_argument(node, "start", 0), end = int_argument(node, "end", *extent);
    if (!step || !start || !end) return;
    const auto bound = [&](std::int64_t at) {
        return std::clamp<std::int64_t>(at < 0 ? at + *extent : at, 0, *extent);
    };
    start = bound(*start);
    end = std::max(*start, bound(*end));
    set_argument(node, "dim", *dim);
    set_argument(node, "start", *start);
    set_argument(node, "end", *end);
    set_argument(node, "step", *step);
}

void wrap_index(const Graph& graph, Node& node, std::string_view argument) {
    const auto extent = extent_along_dim(graph, node);
    const auto at = int_argument(node, argument, 0);
    if (extent && at && *at < 0 && *at >= -*extent) set_argument(node, argument, *at + *extent);
}

void make_sizes_explicit(const Graph& graph, Node& node, std::string_view argument) {
    const TensorType* result = output_type(graph, node);
    NamedArgument* sizes = find_mutable(node, argument);
    if (result == nullptr || result->dynamic || sizes == nullptr) return;
    if (auto* list = std::get_if<Ints>(&sizes->value); list && list->size() == result->sizes.size())
        *list = result->sizes;
}

// Those that broadcast their tensors.
constexpr std::string_view kBroadcasting[] = {
    "add", "sub", "mul", "div", "maximum", "minimum", "pow",         "where",
    "eq",  "ne",  "lt",  "le",  "gt",      "ge",      "logical_and", "logical_or"};

// The sizes that tensors of these sizes broadcast to, if they do.
Ints broadcast(const Ints& a, const Ints& b) {
    Ints wide = a.size() < b.size() ? b : a;
    const Ints& other = a.size() < b.size() ? a : b;
    for (std::size_t i = 1; i <= other.size(); ++i)
        if (wide.end()[-static_cast<std::ptrdiff_t>(i)] == 1)
            wide.end()[-static_cast<std::ptrdiff_t>(i)] =
                other.end()[-static_cast<std::ptrdiff_t>(i)];
    return wide;
}

// What the value is an expanded view of; one number is left alone, since its type counts less.
std::optional<ValueId> before_expand(const Graph& graph, ValueId value) {
    const auto producer = graph[value].producer;
    if (!producer || aten_name(graph[*producer].target) != "expand") return std::nullopt;
    const auto* source = std::get_if<ValueId>(&graph[*producer].inputs.front().value);
    if (!source || !graph[*source].type || graph[*source].type->sizes.empty()) return std::nullopt;
    return *source;
}

// Reads tensors as they were before they were expanded to the result's sizes, which operators that
// broadcast do by themselves.
void read_before_expands(const Graph& graph, Node& node) {
    const TensorType* result = output_type(graph, node);
    if (!result || result->dynamic || node.outputs.size() != 1) return;
    const std::string_view name = aten_name(node.target);
    if (std::ranges::find(kBroadcasting, name) == std::end(kBroadcasting)) return;
    for (NamedArgument& input : node.inputs) {
        auto* value = std::get_if<ValueId>(&input.value);
        const auto source = value ? before_expand(graph, *value) : std::nullopt;
        if (!source) continue;
        const ValueId expanded = std::exchange(*value, *source);
        Ints sizes;
        for (const ValueId read : tensor_inputs(node))
            if (const auto& type = graph[read].type) sizes = broadcast(sizes, type->sizes);
        if (sizes != result->sizes) *value = expanded;
    }
}

}  // namespace

void normalize_arguments(const Graph& graph, Node& node) {
    drop_alias(node);
    make_permute(graph, node);
    make_cast(graph, node);
    make_clone(graph, node);
    make_full(graph, node);
    wrap_dims(graph, node);
    const std::string_view target = node.target, name = aten_name(target);
    if (target == "aten.slice.Tensor" || target == "aten.slice_scatter.default")
        make_slice_explicit(graph, node);
    if (target == "aten.select.int" || target == "aten.select_scatter.default")
        wrap_index(graph, node, "index");
    if (target == "aten.narrow.default") wrap_index(graph, node, "start");
    if (target == "aten.view.default" || name == "_unsafe_view" || name == "expand")
        make_sizes_explicit(graph, node, "size");
    if (name == "reshape") make_sizes_explicit(graph, node, "shape");
    read_before_expands(graph, node);
}

}  // namespace fact::graph
