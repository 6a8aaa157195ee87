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

constexpr int kMaxMaskDepth = 8;

// An instruction or two for every score; masks are made of little else.
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

    struct Way {
        MaskSource source;
        double bytes = 0;
    };

    // The value read as it is, or made of what is less to read: tensors it repeats along some axis,
    // as arithmetic that is the same for several scores is better done once. Only a bool is made of
    // others like it: its operators cost nothing beside the choice they are for.
    Way best(ValueId value, const Shape& shape, int depth = 0) {
        Way read;
        if (const auto known = known_.of(value))
            if (const auto number = known->number()) {
                read.source.numbers[value] = *number;
                read.source.numbered = known_.nodes_behind(value);
                return read;
            }
        read.source.reads = {{value, shape}};
        read.bytes = bytes(value, shape);
        const auto producer = graph_[value].producer;
        if (!producer || depth == kMaxMaskDepth) return read;
        const Node& node = graph_[*producer];
        std::optional<Way> made;
        if (is_cheap(graph_, node))
            made = from_operands(node, shape, depth);
        else
            made = through_view(node, shape, depth);
        if (!made || made->source.nodes.empty()) return read;
        const double most = elements(shape);
        const bool repeats = std::ranges::all_of(
            made->source.reads, [&](const Placed& part) { return elements(part.shape) < most; });
        const bool is_bool = graph_[value].type->dtype == DType::boolean;
        const bool pays = repeats ? made->bytes < read.bytes : is_bool && made->bytes <= read.bytes;
        return pays ? *made : read;
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

    std::optional<Way> from_operands(const Node& node, const Shape& shape, int depth) {
        Way made;
        made.source.nodes.insert(*graph_[node.outputs.front()].producer);
        for (const ValueId value : graph::tensor_inputs(node)) {
            const Shape own = broadcast_shape(*graph_[value].type, shape);
            if (!add(made, best(value, own, depth + 1))) return std::nullopt;
        }
        return made;
    }

    // One value is seen in one way.
    static bool add(Way& to, const Way& from) {
        auto& reads = to.source.reads;
        for (const Placed& read : from.source.reads) {
            const auto at = std::ranges::find(reads, read.value, &Placed::value);
            if (at == reads.end())
                reads.push_back(read);
            else if (at->shape != read.shape)
                return false;
        }
        to.source.numbers.insert(from.source.numbers.begin(), from.source.numbers.end());
        to.source.nodes.insert(from.source.nodes.begin(), from.source.nodes.end());
        to.source.numbered.insert(from.source.numbered.begin(), from.source.numbered.end());
        to.bytes += from.bytes;
        return true;
    }

    // What lies behind a view is worth looking at where something is computed there.
    std::optional<Way> through_view(const Node& node, const Shape& shape, int depth) {
        const auto source = graph::tensor_argument(node, "self");
        if (!source || !graph_[*source].type) return std::nullopt;
        const auto& before = *graph_[*source].type;
        Shape own(before.sizes.size());
        if (node.target == "aten.permute.default") {
            const auto dims = graph::ints_argument(node, "dims");
            for (std::size_t i = 0; i < dims.size(); ++i)
                own[static_cast<std::size_t>(dims[i])] = shape[i];
        } else if (node.target == "aten.expand.default") {
            own = broadcast_shape(before, shape);
        } else if (node.target == "aten.unsqueeze.default") {
            auto dim = static_cast<std::ptrdiff_t>(graph::number_argument(node, "dim").value_or(0));
            if (dim < 0) dim += std::ssize(shape);
            own = shape;
            own.erase(own.begin() + dim);
        } else {
            return std::nullopt;
        }
        Way made = best(*source, own, depth + 1);
        if (!made.source.nodes.empty())
            made.source.nodes.insert(*graph_[node.outputs.front()].producer);
        return made;
    }

    const Graph& graph_;
    KnownValues& known_;
    std::span<const std::int64_t> extents_;
};

}  // namespace

std::optional<MaskSource> find_mask_source(const Graph& graph, KnownValues& known,
                                           const Placed& mask,
                                           std::span<const std::int64_t> extents) {
    const auto way = Finder(graph, known, extents).best(mask.value, mask.shape);
    if (way.source.nodes.empty()) return std::nullopt;
    return way.source;
}

}  // namespace fact::match
