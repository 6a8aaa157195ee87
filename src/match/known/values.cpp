#include "match/known/values.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "graph/arguments.h"
#include "ir/number.h"
#include "match/known/indexing.h"
#include "match/known/tensor.h"

namespace fact::match {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::TensorType;
using graph::ValueId;
using Operands = std::span<const double>;

namespace {

constexpr std::size_t kLarge = std::size_t{1} << 20;  // elements: see find()
constexpr int kMaxChain = 200;                        // operators in a row; masks have a dozen

struct Pointwise {
    std::string_view name;  // without "aten." and the overload
    std::vector<std::string_view> operands;
    double (*compute)(Operands);
    bool bool_only = false;  // `compute` is wrong for integers
};

const std::vector<Pointwise> kPointwise{
    {"eq", {"self", "other"}, [](Operands x) { return double(x[0] == x[1]); }},
    {"ne", {"self", "other"}, [](Operands x) { return double(x[0] != x[1]); }},
    {"lt", {"self", "other"}, [](Operands x) { return double(x[0] < x[1]); }},
    {"le", {"self", "other"}, [](Operands x) { return double(x[0] <= x[1]); }},
    {"gt", {"self", "other"}, [](Operands x) { return double(x[0] > x[1]); }},
    {"ge", {"self", "other"}, [](Operands x) { return double(x[0] >= x[1]); }},
    {"add", {"self", "other"}, [](Operands x) { return x[0] + x[1]; }},
    {"sub", {"self", "other"}, [](Operands x) { return x[0] - x[1]; }},
    {"rsub", {"self", "other"}, [](Operands x) { return x[1] - x[0]; }},
    {"mul", {"self", "other"}, [](Operands x) { return x[0] * x[1]; }},
    {"div", {"self", "other"}, [](Operands x) { return x[0] / x[1]; }},
    {"neg", {"self"}, [](Operands x) { return -x[0]; }},
    {"abs", {"self"}, [](Operands x) { return std::abs(x[0]); }},
    {"logical_not", {"self"}, [](Operands x) { return double(x[0] == 0); }},
    {"logical_and", {"self", "other"}, [](Operands x) { return double(x[0] != 0 && x[1] != 0); }},
    {"logical_or", {"self", "other"}, [](Operands x) { return double(x[0] != 0 || x[1] != 0); }},
    {"bitwise_not", {"self"}, [](Operands x) { return double(x[0] == 0); }, true},
    {"bitwise_and", {"self", "other"}, [](Operands x) { return x[0] * x[1]; }, true},
    {"bitwise_or", {"self", "other"}, [](Operands x) { return std::max(x[0], x[1]); }, true},
    {"where", {"condition", "self", "other"}, [](Operands x) { return x[0] != 0 ? x[1] : x[2]; }},
    {"masked_fill", {"self", "mask", "value"}, [](Operands x) { return x[1] != 0 ? x[2] : x[0]; }},
    {"_to_copy", {"self"}, [](Operands x) { return x[0]; }},
};

// "eq" for "aten.eq.Scalar".
std::string_view short_name(const Node& node) {
    std::string_view name = node.target;
    if (!name.starts_with("aten.")) return {};
    name.remove_prefix(5);
    return name.substr(0, name.find('.'));
}

// An argument that is a number or a flag.
std::optional<double> constant_argument(const Node& node, std::string_view name) {
    if (const auto number = graph::number_argument(node, name)) return number;
    const auto* argument = graph::find_argument(node, name);
    const auto* flag = argument ? std::get_if<bool>(argument) : nullptr;
    return flag ? std::optional<double>(*flag ? 1 : 0) : std::nullopt;
}

// Tensors made from sizes and numbers alone, such as zeros and arange.
std::optional<KnownTensor> factory_result(const Node& node, const TensorType& type) {
    const std::string_view name = short_name(node);
    const auto repeat = [&](double value) {
        return filled(type.sizes, ir::round_to(value, type.dtype));
    };
    if (name == "ones" || name == "ones_like" || name == "new_ones") return repeat(1);
    if (name == "zeros" || name == "zeros_like" || name == "new_zeros") return repeat(0);
    if (name == "full" || name == "full_like" || name == "new_full" || name == "scalar_tensor") {
        const auto value = constant_argument(node, name == "scalar_tensor" ? "s" : "fill_value");
        return value ? std::optional(repeat(*value)) : std::nullopt;
    }
    if (name != "arange" || type.sizes.size() != 1 || type.sizes[0] > kMaxKnown)
        return std::nullopt;
    const auto number_or = [&](std::string_view argument, double fallback) {
        return graph::find_argument(node, argument) ? graph::number_argument(node, argument)
                                                    : fallback;
    };
    const auto start = number_or("start", 0), step = number_or("step", 1);
    if (!start || !step) return std::nullopt;
    auto elements = std::make_shared<std::vector<double>>();
    for (std::int64_t i = 0; i < type.sizes[0]; ++i)
        elements->push_back(ir::round_to(*start + static_cast<double>(i) * *step, type.dtype));
    return KnownTensor{type.sizes, {1}, 0, std::move(elements)};
}

// The part of a matrix on one side of a diagonal.
std::optional<KnownTensor> triangle(const Node& node, const TensorType& type, KnownTensor source) {
    const std::size_t rank = type.sizes.size();
    if (rank < 2 || type.sizes[rank - 1] > kMaxKnown || type.sizes[rank - 2] > kMaxKnown)
        return std::nullopt;
    const auto iota = [](std::int64_t extent) {
        auto elements = std::make_shared<std::vector<double>>();
        for (std::int64_t i = 0; i < extent; ++i) elements->push_back(static_cast<double>(i));
        return elements;
    };
    const KnownTensor row{{type.sizes[rank - 2], 1}, {1, 0}, 0, iota(type.sizes[rank - 2])};
    const KnownTensor column{{type.sizes[rank - 1]}, {1}, 0, iota(type.sizes[rank - 1])};
    const double diagonal = graph::number_argument(node, "diagonal").value_or(0);
    const bool lower = node.target == "aten.tril.default";
    return map_elements(type.sizes, type.dtype, {std::move(source), row, column}, [&](Operands x) {
        const double distance = x[2] - x[1] - diagonal;  // positive right of the diagonal
        return (lower ? distance <= 0 : distance >= 0) ? x[0] : 0.0;
    });
}

}  // namespace

KnownValues::KnownValues(const Graph& graph, std::span<const graph::Weight> weights)
    : graph_(graph) {
    std::set<ValueId> read;
    for (const Node& node : graph.nodes)
        for (const ValueId value : graph::tensor_inputs(node))
            if (!read.insert(value).second) shared_.insert(value);
    for (const auto& input : graph.inputs) {
        if (input.kind != graph::InputKind::buffer && input.kind != graph::InputKind::constant)
            continue;
        const bool is_mutated = std::ranges::any_of(
            graph.outputs, [&](const auto& output) { return output.mutates == input.fqn; });
        const auto weight = std::ranges::find(weights, input.fqn, &graph::Weight::fqn);
        if (!is_mutated && weight != weights.end()) weights_[input.value] = &*weight;
    }
}

std::optional<KnownTensor> KnownValues::of(ValueId value) {
    return find(value, true);
}

// Large intermediate values are cached only if they are read more than once: the intermediate
// values of one mask together are several times as large as the mask.
std::optional<KnownTensor> KnownValues::find(ValueId value, bool keep) {
    if (const auto found = known_.find(value); found != known_.end()) return found->second;
    if (depth_ == kMaxChain) return std::nullopt;
    ++depth_;
    auto computed = compute(value);
    --depth_;
    // The sizes must agree with the graph.
    if (computed && (!graph_[value].type || computed->sizes != graph_[value].type->sizes))
        computed.reset();
    if (keep || !computed || computed->elements->size() <= kLarge || shared_.contains(value))
        known_[value] = computed;
    return computed;
}

std::optional<KnownTensor> KnownValues::load(ValueId value) const {
    const auto found = weights_.find(value);
    if (found == weights_.end()) return std::nullopt;
    const TensorType& type = found->second->type;
    const std::int64_t extent = graph::storage_length(type.sizes, type.strides);
    const std::int64_t length = type.offset + extent;
    if (extent == 0 || length > kMaxKnown) return std::nullopt;
    auto elements = std::make_shared<std::vector<double>>(static_cast<std::size_t>(length));
    ir::load(found->second->storage.data(), type.dtype, 0, 1, length, elements->data());
    return KnownTensor{type.sizes, type.strides, type.offset, std::move(elements)};
}

std::optional<KnownTensor> KnownValues::compute(ValueId value) {
    const auto& type = graph_[value].type;
    const auto producer = graph_[value].producer;
    if (!type || type->dynamic) return std::nullopt;
    if (!producer) return load(value);
    const Node& node = graph_[*producer];
    if (node.outputs.size() != 1) return std::nullopt;
    if (auto tensor = factory_result(node, *type)) return tensor;

    const std::string_view name = short_name(node);
    const auto row = std::ranges::find(kPointwise, name, &Pointwise::name);
    if (row != kPointwise.end()) {
        const bool scaled = graph::number_argument(node, "alpha").value_or(1) != 1;
        const bool rounds = graph::find_argument(node, "rounding_mode") != nullptr;
        if (scaled || rounds || (row->bool_only && type->dtype != DType::boolean))
            return std::nullopt;
        std::vector<KnownTensor> operands;
        for (const std::string_view argument : row->operands) {
            const auto number = constant_argument(node, argument);
            const auto tensor = graph::tensor_argument(node, argument);
            auto operand = number   ? std::optional(filled({}, *number))
                           : tensor ? find(*tensor, false)
                                    : std::nullopt;
            if (!operand) return std::nullopt;
            operands.push_back(std::move(*operand));
        }
        return map_elements(type->sizes, type->dtype, operands, row->compute);
    }
    const auto self = graph::tensor_argument(node, "self");
    auto source = self ? find(*self, false) : std::nullopt;
    if (!source) return std::nullopt;
    if (node.target == "aten.tril.default" || node.target == "aten.triu.default")
        return triangle(node, *type, std::move(*source));
    if (node.target == "aten.cumsum.default") return known_cumsum(node, *type, *source);
    if (node.target == "aten.diff.default") {
        const auto before = graph::tensor_argument(node, "prepend");
        const auto prepend = before ? find(*before, false) : std::nullopt;
        if (before.has_value() != prepend.has_value() || graph::tensor_argument(node, "append"))
            return std::nullopt;
        return known_diff(node, *type, *source, prepend);
    }
    if (node.target == "aten.index.Tensor") {
        const auto indices = find_indices(node);
        return indices ? known_index(*type, *source, *indices) : std::nullopt;
    }
    return known_view(node, type->sizes, std::move(*source));
}

// The indices of aten.index: integers for each of the first dimensions.
std::optional<std::vector<KnownTensor>> KnownValues::find_indices(const Node& node) {
    const auto* argument = graph::find_argument(node, "indices");
    if (argument == nullptr) return std::nullopt;
    std::vector<KnownTensor> found;
    const auto values = graph::tensor_inputs(node);
    std::size_t num_listed = 0;
    if (const auto* list = std::get_if<std::vector<std::optional<ValueId>>>(argument))
        num_listed = list->size();
    else if (const auto* plain = std::get_if<std::vector<ValueId>>(argument))
        num_listed = plain->size();
    if (values.size() != num_listed + 1) return std::nullopt;  // a dimension has no index
    for (std::size_t i = 1; i < values.size(); ++i) {
        auto index = find(values[i], false);
        if (!index || graph_[values[i]].type->dtype != DType::i64) return std::nullopt;
        found.push_back(std::move(*index));
    }
    return found;
}

std::set<NodeId> KnownValues::producers_of(ValueId value) const {
    std::set<NodeId> found;
    std::vector<ValueId> open{value};
    while (!open.empty()) {
        const ValueId last = open.back();
        const auto producer = graph_[last].producer;
        open.pop_back();
        if (!producer || !found.insert(*producer).second) continue;
        // Factories such as zeros_like depend on the sizes of their argument, not on its contents.
        if (factory_result(graph_[*producer], *graph_[last].type)) continue;
        const auto reads = graph::tensor_inputs(graph_[*producer]);
        open.insert(open.end(), reads.begin(), reads.end());
    }
    return found;
}

}  // namespace fact::match
