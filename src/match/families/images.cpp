// A convolution together with what computes its images, offered beside the separate patterns: what
// its kernels store before the product, in another order or narrower, is then computed from what is
// in memory anyway, and the images themselves are never stored.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "graph/image_layout.h"
#include "graph/operators.h"
#include "graph/windows.h"
#include "match/families/family.h"
#include "match/operators/pointwise.h"
#include "match/operators/rowwise.h"
#include "match/regions/start.h"
#include "match/text/write.h"
#include "sol/bound.h"
#include "sol/work.h"

namespace fact::match {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

namespace {

constexpr std::size_t kMostBefore = 32;  // operators, which limits the time

// Of the separate patterns' time.
constexpr double kClearlyFaster = 0.97;

// With fewer, kernels of convolutions read f32 images as they are (lower/rows/patches.h).
constexpr std::int64_t kManyChannels = 33;

bool normalises_batch(const Graph& graph, const Node& node) {
    const auto facts = graph::facts_of(node);
    return facts.kind == graph::OperatorKind::norm && facts.along == graph::Along::batch &&
           find_rowwise(node) && unsupported_rowwise(graph, node).empty();
}

// Whether each element of the result depends on one of each operand.
bool works_by_element(const Graph& graph, const Node& node) {
    if (graph::facts_of(node).along == graph::Along::running)
        return find_rowwise(node) && unsupported_rowwise(graph, node).empty();
    return find_pointwise(node) && unsupported_pointwise(graph, node).empty();
}

bool multiplies(const Node& node) {
    return is_anchor(node) || graph::window_kind(node) == graph::WindowKind::convolution;
}

// What computes the images of a convolution, and nothing else.
struct Before {
    std::set<NodeId> nodes;
    ValueId root{};  // the first of the tensors that they read: the norm's, if there is one
    bool normalises = false;
    double read_bytes = 0;  // of the tensors of the images' size
};

std::optional<Before> before_convolution(const Search& search, NodeId convolution, ValueId images) {
    const Graph& graph = search.graph;
    const std::int64_t size = count(*graph[images].type);
    const auto is_whole = [&](ValueId value) {
        return graph[value].type && count(*graph[value].type) == size;
    };
    Before found;
    std::set<NodeId> inside{convolution};
    std::vector<ValueId> roots;
    // The last ones first, so that all that read a value are known.
    std::set<std::pair<std::optional<NodeId>, ValueId>> open;
    const auto visit = [&](ValueId value) { open.emplace(graph[value].producer, value); };
    visit(images);
    std::optional<ValueId> normalised;
    while (!open.empty()) {
        const auto [producer, value] = *open.rbegin();
        open.erase(std::prev(open.end()));
        const bool norm = producer && normalises_batch(graph, graph[*producer]);
        const bool computable =
            norm ? !normalised : producer && works_by_element(graph, graph[*producer]);
        if (!computable || graph[*producer].outputs.front() != value ||
            !only_used_in(search.facts, value, inside) || found.nodes.size() == kMostBefore ||
            search.facts.once[graph::index(*producer)]) {
            roots.push_back(value);
            continue;
        }
        found.nodes.insert(*producer);
        inside.insert(*producer);
        if (norm) {
            normalised = graph::tensor_inputs(graph[*producer]).front();
            continue;
        }
        for (const ValueId read : graph::tensor_inputs(graph[*producer]))
            if (is_whole(read)) visit(read);
    }
    if (found.nodes.empty() || (!normalised && roots.empty())) return std::nullopt;
    found.normalises = normalised.has_value();
    found.root = normalised ? *normalised : roots.front();
    if (normalised) found.read_bytes = sol::stored_bytes(*graph[*normalised].type);
    for (const ValueId value : roots) found.read_bytes += sol::stored_bytes(*graph[value].type);
    // A product's own kernel computes what follows it at no cost.
    const auto of_product = [&](ValueId value) {
        return graph[value].producer && multiplies(graph[*graph[value].producer]) &&
               only_used_in(search.facts, value, inside);
    };
    if (!normalised && std::ranges::any_of(roots, of_product)) return std::nullopt;
    return found;
}

// The convolution's pattern without a reduction; nullptr if there is none.
const Candidate* separate_pattern(const Search& search, NodeId convolution) {
    for (const Candidate& chosen : search.chosen)
        if (chosen.anchor == convolution && chosen.pattern.convolution && !chosen.rowwise)
            return &chosen;
    return nullptr;
}

// The time of that pattern and of kernels for what is before it, by their bounds: a norm's read
// all, then the sums of its parts.
double separate_us(const Search& search, const Candidate& convolution, const Before& before,
                   ValueId images) {
    const double stored = sol::stored_bytes(*search.graph[images].type);
    const auto moving_us = [&](double bytes) {
        return sol::kernel_bound({0, bytes, sol::Unit::cuda_core_fp32}, search.gpu).calibrated_us;
    };
    const double root = sol::stored_bytes(*search.graph[before.root].type);
    const double statistics_us = before.normalises ? moving_us(root) + moving_us(1) : 0;
    return convolution.pattern.cost.expected_us + statistics_us +
           moving_us(before.read_bytes + stored);
}

// Whether the kernels of a convolution store its images in another way before its product.
bool stores_images(const graph::TensorType& type) {
    const bool channels_last = graph::image_layout(type) == graph::ImageLayout::last;
    return graph::walks_windows(type.dtype, type.sizes[1], channels_last) &&
           (type.dtype != DType::f32 || type.sizes[1] >= kManyChannels);
}

std::optional<Candidate> with_images(Search& search, NodeId id) {
    const Graph& graph = search.graph;
    const auto windows = graph::read_windows(graph, graph[id]);
    if (!windows) return std::nullopt;
    if (!stores_images(*graph[windows->source].type)) return std::nullopt;
    const Candidate* const separate = separate_pattern(search, id);
    const auto before = before_convolution(search, id, windows->source);
    if (!separate || !before) return std::nullopt;
    auto anchor = start_at(graph, before->root, "conv_of");
    if (!anchor) return std::nullopt;
    anchor->form = graph::ProductForm::convolution;
    anchor->space.convolution = id;
    std::set<NodeId> others, wanted = before->nodes;
    wanted.insert(separate->nodes.begin(), separate->nodes.end());
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
        if (const auto node = static_cast<NodeId>(i);
            !wanted.contains(node) && !search.facts.updates.contains(node))
            others.insert(node);
    Facts facts = search.facts;
    facts.after_product.clear();
    Growth growth = grow(graph, facts, std::move(*anchor), others);
    facts.after_product.clear();
    auto all = regions_with_and_without_updates(graph, facts, growth);
    // All of it, with and without updates.
    std::erase_if(
        all, [&](const Region& region) { return !std::ranges::includes(region.nodes, wanted); });
    std::ranges::stable_sort(all, std::ranges::greater(),
                             [](const Region& region) { return region.nodes.size(); });
    const double limit_us =
        kClearlyFaster * separate_us(search, *separate, *before, windows->source);
    for (const Region& region : all) {
        auto pattern = guarded(
            [&] { return write_pattern(graph, facts, region, search.options, search.gpu); });
        if (pattern && pattern->cost.expected_us < limit_us)
            return Candidate{id, region.nodes, std::move(*pattern), has_rowwise(graph, region)};
    }
    return std::nullopt;
}

std::vector<Candidate> find_images(Search& search) {
    std::vector<Candidate> found;
    for (std::size_t i = 0; i < search.graph.nodes.size(); ++i) {
        const auto id = static_cast<NodeId>(i);
        if (graph::window_kind(search.graph[id]) != graph::WindowKind::convolution) continue;
        using Found = std::optional<Candidate>;
        auto with = guarded([&]() -> Result<Found> { return with_images(search, id); });
        if (with && *with) found.push_back(std::move(**with));
    }
    return found;
}

}  // namespace

// Declared and listed in families.cpp.
extern const Family kImages{'c', Round::second, Anywhere{find_images}};

}  // namespace fact::match
