#include "graph/channels_last.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "graph/arguments.h"
#include "graph/identity.h"
#include "graph/image_layout.h"
#include "graph/references.h"
#include "graph/windows.h"

namespace fact::graph {

namespace {

// Operators whose results torch gives the layout of their tensors, on CPUs and GPUs: of the first
// tensor, of all that have the result's sizes (smaller ones are broadcast), or of all in a list.
// For others, such as views, this pass leaves all as it was: torch may write channels first
// whatever it reads (masked_fill, pixel_shuffle, pooling over three dimensions), or draw random
// numbers in the order of memory (dropout).
constexpr std::string_view kLikeFirst[]{"conv2d",
                                        "conv3d",
                                        "convolution",
                                        "conv_transpose2d",
                                        "conv_transpose3d",
                                        "batch_norm",
                                        "_native_batch_norm_legit",
                                        "_native_batch_norm_legit_no_training",
                                        "_native_batch_norm_legit_functional",
                                        "max_pool2d",
                                        "max_pool2d_with_indices",
                                        "avg_pool2d",
                                        "adaptive_avg_pool2d",
                                        "_adaptive_avg_pool2d",
                                        "upsample_nearest2d",
                                        "_upsample_nearest_exact2d",
                                        "upsample_bilinear2d",
                                        "constant_pad_nd"};
constexpr std::string_view kLikeAll[]{
    "_to_copy", "abs",        "add",  "celu",    "clamp",      "clamp_max",   "clamp_min",
    "div",      "elu",        "erf",  "exp",     "gelu",       "hardsigmoid", "hardswish",
    "hardtanh", "leaky_relu", "lerp", "log",     "maximum",    "minimum",     "mish",
    "mul",      "neg",        "pow",  "prelu",   "reciprocal", "relu",        "relu6",
    "rsqrt",    "rsub",       "selu", "sigmoid", "silu",       "softplus",    "sqrt",
    "square",   "sub",        "tanh", "where"};
constexpr std::string_view kLikeList[]{"cat"};
// They read any layout, and torch's result, the norm of their first tensor, is channels first on a
// GPU: it is copied, which costs nothing where the norm is computed by a kernel of ours.
constexpr std::string_view kCopied[]{"group_norm", "instance_norm"};
// They read any layout, and their results, which are smaller, have none.
constexpr std::string_view kReductions[]{"mean", "sum", "amax", "amin"};

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

class Rewriter {
  public:
    explicit Rewriter(const Graph& graph)
        : graph_(graph),
          num_values_(graph.values.size()),
          inside_(graph.nodes.size()),
          parent_(num_values_),
          cost_(num_values_) {
        std::iota(parent_.begin(), parent_.end(), std::size_t{0});
        for (const Value& value : graph.values) {
            layouts_.push_back(image_layout(value.type));
            names_.insert(value.name);
        }
        for (const Node& node : graph.nodes) names_.insert(node.name);
    }

    Graph run() {
        find_carriers();
        for (std::size_t i = 0; i < graph_.nodes.size(); ++i) connect(i);
        weigh();
        if (std::ranges::none_of(cost_, [](double cost) { return cost < 0; })) return graph_;
        rewrite();
        return std::move(graph_);
    }

  private:
    // What an operator reads and makes in one layout.
    struct Inside {
        std::vector<ValueId> images;
        std::optional<ValueId> result;  // absent: it has no layout
    };

    void find_carriers() {
        const NameIndex names(graph_);
        std::vector<bool> read = escapes(graph_);
        for (const Node& node : graph_.nodes)
            for (const NamedArgument& input : node.inputs) {
                for_each_value(input.value, [&](ValueId id) { read[index(id)] = true; });
                // Such a reader cannot be given another value.
                for (const ValueId id : names.opaque_references(input.value))
                    layouts_[index(id)] = ImageLayout::other;
            }
        for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
            const Node& node = graph_.nodes[i];
            if (node.outputs.empty() || node.returns_list) continue;
            const bool one_result =
                std::none_of(node.outputs.begin() + 1, node.outputs.end(), [&](ValueId id) {
                    const auto& type = graph_[id].type;
                    return read[index(id)] && (!type || type->sizes.size() > 1);
                });
            if (one_result) inside_[i] = inside_of(node);
        }
    }

    Inside inside_of(const Node& node) const {
        const ValueId result = node.outputs.front();
        const std::string_view name = aten_name(node.target);
        const auto reads = tensor_inputs(node);
        if (reads.empty() || find_argument(node, "memory_format")) return {};
        if (is_one_of(kReductions, name))
            return has_layout(result) ? Inside{} : Inside{images_in({reads.front()}), {}};
        if (layout(result) == ImageLayout::other) return {};
        std::vector<ValueId> images;
        if (is_one_of(kLikeFirst, name) || is_one_of(kCopied, name)) images = {reads.front()};
        if (is_one_of(kLikeList, name)) images = reads;
        if (is_one_of(kLikeAll, name))
            std::ranges::copy_if(reads, std::back_inserter(images), [&](ValueId id) {
                return graph_[id].type && graph_[id].type->sizes == graph_[result].type->sizes;
            });
        // Images of one dimension more or less mean other channels.
        const auto rank = graph_[result].type->sizes.size();
        const bool weighted = window_kind(node) == WindowKind::convolution ||
                              window_kind(node) == WindowKind::depthwise;
        if (weighted && (reads.size() < 2 || rank_of(reads[1]) != rank)) return {};
        if (images.empty() || std::ranges::any_of(images, [&](ValueId id) {
                return rank_of(id) != rank || graph_[id].type->dynamic ||
                       !has_sane_size(*graph_[id].type);
            }))
            return {};
        // Such a convolution is worth two copies.
        if (saved_by_channels_last(graph_, node) < 0) return {};
        if (!has_layout(result)) return {images_in(images), {}};
        return {images, result};
    }

    std::size_t rank_of(ValueId id) const {
        return graph_[id].type ? graph_[id].type->sizes.size() : 0;
    }
    ImageLayout layout(ValueId id) const { return layouts_[index(id)]; }
    bool has_layout(ValueId id) const {
        return layout(id) == ImageLayout::first || layout(id) == ImageLayout::last;
    }
    std::vector<ValueId> images_in(std::vector<ValueId> values) const {
        std::erase_if(values, [&](ValueId id) { return !has_layout(id); });
        return values;
    }

    std::size_t root(ValueId id) const {
        std::size_t at = index(id);
        while (parent_[at] != at) at = parent_[at];
        return at;
    }

    void connect(std::size_t node) {
        const Inside& inside = inside_[node];
        auto together = images_in(inside.images);
        if (inside.result) together.push_back(*inside.result);
        for (const ValueId id : together) parent_[root(id)] = root(together.front());
    }

    // The set of values that the node belongs to; nullopt if it is in none.
    std::optional<std::size_t> part_of(std::size_t node) const {
        const Inside& inside = inside_[node];
        if (inside.result) return root(*inside.result);
        return inside.images.empty() ? std::nullopt : std::optional(root(inside.images.front()));
    }

    bool is_image_of(std::size_t node, ValueId id) const {
        return std::ranges::find(inside_[node].images, id) != inside_[node].images.end();
    }
    bool is_made_inside(ValueId id) const {
        const auto producer = graph_[id].producer;
        return producer && inside_[index(*producer)].result == id;
    }

    // Bytes that each set would move more if it were channels last, at its root.
    void weigh() {
        std::set<std::pair<std::size_t, ValueId>> copies;  // a set's copies of values
        for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
            const Node& node = graph_.nodes[i];
            const auto part = part_of(i);
            if (part && layout(tensor_inputs(node)[0]) == ImageLayout::first)
                cost_[*part] -= saved_by_channels_last(graph_, node);
            for (const ValueId id : tensor_inputs(node)) {
                if (part && is_image_of(i, id)) {
                    if (!is_made_inside(id) && layout(id) != ImageLayout::last)
                        copies.insert({*part, id});
                } else if (is_made_inside(id) && layout(id) == ImageLayout::first) {
                    copies.insert({root(id), id});
                }
            }
        }
        for (const GraphOutput& output : graph_.outputs)
            if (output.value && is_made_inside(*output.value) &&
                layout(*output.value) == ImageLayout::first)
                copies.insert({root(*output.value), *output.value});
        for (const auto& [part, id] : copies) cost_[part] += copy_traffic(*graph_[id].type);
    }

    bool is_rewritten(std::optional<std::size_t> part) const { return part && cost_[*part] < 0; }

    static TensorType in_layout(TensorType type, bool last) {
        type.strides =
            last ? channels_last_strides(type.sizes) : channels_first_strides(type.sizes);
        type.offset = 0;
        return type;
    }

    // A node that copies `source` to `result`.
    Node copy_of(ValueId source, ValueId result, std::string name, bool last) const {
        const int format = !last ? 1 : rank_of(source) == 4 ? 2 : 3;
        Node copy;
        copy.target = "aten.clone.default";
        copy.name = std::move(name);
        copy.inputs = {{"self", source, false}, {"memory_format", MemoryFormatArg{format}, true}};
        copy.outputs = {result};
        return copy;
    }

    // The value in the other layout; the first time, adds the node that copies it.
    ValueId copied(std::vector<Node>& nodes, const Provenance& reader, ValueId id, bool last) {
        auto& copies = last ? last_copies_ : first_copies_;
        const auto [at, added] = copies.try_emplace(id);
        if (!added) return at->second;
        auto name = unique(graph_[id].name + (last ? "_channels_last" : "_channels_first"));
        at->second = graph_.add_value({name, in_layout(*graph_[id].type, last), {}});
        nodes.push_back(copy_of(id, at->second, std::move(name), last));
        nodes.back().where = graph_[id].producer ? wheres_[index(*graph_[id].producer)] : reader;
        return at->second;
    }

    // Adds a node whose result torch may write channels first, and one that copies it.
    void add_with_copy(std::vector<Node>& nodes, Node node) {
        const ValueId result = node.outputs.front();
        const ValueId written = graph_.add_value(
            {unique(graph_[result].name + "_written"), in_layout(*graph_[result].type, false), {}});
        node.outputs.front() = written;
        Node copy = copy_of(written, result, unique(node.name + "_channels_last"), true);
        copy.where = node.where;
        nodes.push_back(std::move(node));
        nodes.push_back(std::move(copy));
    }

    std::string unique(const std::string& wanted) {
        std::string name = wanted;
        for (int i = 1; !names_.insert(name).second; ++i) name = wanted + "_" + std::to_string(i);
        return name;
    }

    void rewrite() {
        std::vector<Node> before = std::exchange(graph_.nodes, {}), nodes;
        for (const Node& node : before) wheres_.push_back(node.where);
        std::vector<bool> made_inside(num_values_);
        for (std::size_t i = 0; i < num_values_; ++i) {
            const auto id = static_cast<ValueId>(i);
            const auto producer = graph_[id].producer;
            made_inside[i] = producer && inside_[index(*producer)].result == id &&
                             is_rewritten(root(id)) && layouts_[i] == ImageLayout::first;
        }
        for (std::size_t i = 0; i < before.size(); ++i) {
            Node& node = before[i];
            const bool inside = is_rewritten(part_of(i));
            for (NamedArgument& input : node.inputs)
                for_each_value(input.value, [&](ValueId& id) {
                    const bool is_last = made_inside[index(id)] || layout(id) == ImageLayout::last;
                    if (inside && is_image_of(i, id)) {
                        if (!is_last) id = copied(nodes, node.where, id, true);
                    } else if (made_inside[index(id)]) {
                        id = copied(nodes, node.where, id, false);
                    }
                });
            if (inside && is_one_of(kCopied, aten_name(node.target)) &&
                made_inside[index(node.outputs.front())])
                add_with_copy(nodes, std::move(node));
            else
                nodes.push_back(std::move(node));
        }
        for (GraphOutput& output : graph_.outputs)
            if (output.value && made_inside[index(*output.value)])
                output.value = copied(nodes, {}, *output.value, false);
        for (std::size_t i = 0; i < num_values_; ++i)
            if (made_inside[i])
                graph_.values[i].type->strides =
                    channels_last_strides(graph_.values[i].type->sizes);
        graph_.nodes = std::move(nodes);
        for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
            for (const ValueId id : graph_.nodes[i].outputs)
                graph_[id].producer = static_cast<NodeId>(i);
    }

    Graph graph_;
    std::size_t num_values_;
    std::vector<ImageLayout> layouts_;  // by value
    std::vector<Inside> inside_;        // by node; empty for those outside all sets
    std::vector<std::size_t> parent_;
    std::vector<double> cost_;        // by value, at the root of its set
    std::vector<Provenance> wheres_;  // by node, as it was
    std::map<ValueId, ValueId> last_copies_, first_copies_;
    std::set<std::string> names_;
};

}  // namespace

Graph keep_channels_last(const Graph& graph) {
    return Rewriter(graph).run();
}

bool changes_layout(const Graph& graph, const Node& node) {
    if (node.target != "aten.clone.default") return false;
    const auto source = tensor_argument(node, "self");
    if (!source || node.outputs.size() != 1) return false;
    const auto &from = graph[*source].type, &to = graph[node.outputs.front()].type;
    return from && to && from->sizes == to->sizes &&
           !same_strides(from->sizes, from->strides, to->strides);
}

}  // namespace fact::graph
