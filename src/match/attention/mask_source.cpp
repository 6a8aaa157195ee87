#include "match/attention/mask_source.h"

#include <algorithm>
#include <array>

#include "graph/arguments.h"
#include "match/operators/pointwise.h"

namespace fact::match {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

namespace {

constexpr int kMaxMaskDepth = 8;  // operators in a row before the mask; more are not looked at

// Operators that cost an instruction or two per score; masks seldom use others.
constexpr std::array kCheap{
    std::string_view("add"),         std::string_view("sub"),
    std::string_view("rsub"),        std::string_view("mul"),
    std::string_view("neg"),         std::string_view("where"),
    std::string_view("masked_fill"), std::string_view("_to_copy"),
    std::string_view("clone"),       std::string_view("eq"),
    std::string_view("ne"),          std::string_view("lt"),
    std::string_view("le"),          std::string_view("gt"),
    std::string_view("ge"),          std::string_view("logical_and"),
    std::string_view("logical_or"),  std::string_view("logical_not"),
    std::string_view("bitwise_and"), std::string_view("bitwise_or"),
    std::string_view("bitwise_not"), std::string_view("minimum"),
    std::string_view("maximum"),
};

bool is_cheap(const Graph& graph, const Node& node) {
    std::string_view name = node.target;
    if (!name.starts_with("aten.")) return false;
    name.remove_prefix(5);
    name = name.substr(0, name.find('.'));
    return std::ranges::find(kCheap, name) != kCheap.end() &&
           unsupported_pointwise(graph, node).empty();
}

class Finder {
  public:
    Finder(const Graph& graph, KnownValues& known, std::span<const std::int64_t> extents)
        : graph_(graph), known_(known), extents_(extents) {}

    struct Plan {
        MaskSource source;
        double bytes = 0;  // of all that is read
    };

    // The best plan: to read the value, or to compute it from tensors that have fewer bytes. Each
    // of these must have fewer elements than the value, because arithmetic that is the same for
    // several scores is better done once. A bool may also be computed from tensors as large as
    // itself: its operators cost almost nothing.
    Plan best(ValueId value, const Shape& shape, int depth = 0) {
        Plan read;
        if (const auto known = known_.of(value))
            if (const auto number = known->number()) {
                read.source.numbers[value] = *number;
                read.source.number_nodes = known_.producers_of(value);
                return read;
            }
        read.source.reads = {{value, shape}};
        read.bytes = bytes(value, shape);
        const auto producer = graph_[value].producer;
        if (!producer || depth == kMaxMaskDepth) return read;
        const Node& node = graph_[*producer];
        std::optional<Plan> compute;
        if (is_cheap(graph_, node))
            compute = from_operands(node, shape, depth);
        else
            compute = through_view(node, shape, depth);
        if (!compute || compute->source.nodes.empty()) return read;
        const double size = elements(shape);
        const bool all_smaller = std::ranges::all_of(
            compute->source.reads,
            [&](const PlacedTensor& part) { return elements(part.shape) < size; });
        const bool is_bool = graph_[value].type->dtype == DType::boolean;
        const bool pays =
            all_smaller ? compute->bytes < read.bytes : is_bool && compute->bytes <= read.bytes;
        return pays ? *compute : read;
    }

  private:
    double bytes(ValueId value, const Shape& shape) const {
        return info(graph_[value].type->dtype).bytes * elements(shape);
    }
    double elements(const Shape& shape) const {
        double count = 1;
        for (const auto& axes : shape)
            for (const Axis axis : axes)
                count *= static_cast<double>(extents_[static_cast<std::size_t>(axis)]);
        return count;
    }

    std::optional<Plan> from_operands(const Node& node, const Shape& shape, int depth) {
        Plan plan;
        plan.source.nodes.insert(*graph_[node.outputs.front()].producer);
        for (const ValueId value : graph::tensor_inputs(node)) {
            const Shape operand = broadcast_shape(*graph_[value].type, shape);
            if (!add(plan, best(value, operand, depth + 1))) return std::nullopt;
        }
        return plan;
    }

    // Adds the plan of an operand; false if a value would be read in two different shapes.
    static bool add(Plan& to, const Plan& from) {
        auto& reads = to.source.reads;
        for (const PlacedTensor& read : from.source.reads) {
            const auto at = std::ranges::find(reads, read.value, &PlacedTensor::value);
            if (at == reads.end())
                reads.push_back(read);
            else if (at->shape != read.shape)
                return false;
        }
        to.source.numbers.insert(from.source.numbers.begin(), from.source.numbers.end());
        to.source.nodes.insert(from.source.nodes.begin(), from.source.nodes.end());
        to.source.number_nodes.insert(from.source.number_nodes.begin(),
                                      from.source.number_nodes.end());
        to.bytes += from.bytes;
        return true;
    }

    // The plan for the source of a view; it has no nodes if nothing is computed before the view.
    std::optional<Plan> through_view(const Node& node, const Shape& shape, int depth) {
        const auto source = graph::tensor_argument(node, "self");
        if (!source || !graph_[*source].type) return std::nullopt;
        const auto& before = *graph_[*source].type;
        Shape source_shape(before.sizes.size());
        if (node.target == "aten.permute.default") {
            const auto dims = graph::ints_argument(node, "dims");
            for (std::size_t i = 0; i < dims.size(); ++i)
                source_shape[static_cast<std::size_t>(dims[i])] = shape[i];
        } else if (node.target == "aten.expand.default") {
            source_shape = broadcast_shape(before, shape);
        } else if (node.target == "aten.unsqueeze.default") {
            auto dim = static_cast<std::ptrdiff_t>(graph::number_argument(node, "dim").value_or(0));
            if (dim < 0) dim += std::ssize(shape);
            source_shape = shape;
            source_shape.erase(source_shape.begin() + dim);
        } else {
            return std::nullopt;
        }
        Plan plan = best(*source, source_shape, depth + 1);
        if (!plan.source.nodes.empty())
            plan.source.nodes.insert(*graph_[node.outputs.front()].producer);
        return plan;
    }

    const Graph& graph_;
    KnownValues& known_;
    std::span<const std::int64_t> extents_;
};

}  // namespace

std::optional<MaskSource> find_mask_source(const Graph& graph, KnownValues& known,
                                           const PlacedTensor& mask,
                                           std::span<const std::int64_t> extents) {
    const auto plan = Finder(graph, known, extents).best(mask.value, mask.shape);
    if (plan.source.nodes.empty()) return std::nullopt;
    return plan.source;
}

}  // namespace fact::match
