// A convolution with the operators after it, as a product over windows. Plain 1x1 ones are products
// of the tensor itself, which families/products.cpp takes.
#include <algorithm>

#include "graph/channels_last.h"
#include "graph/image_layout.h"
#include "graph/windows.h"
#include "match/families/family.h"
#include "match/regions/start.h"
#include "match/text/write.h"

namespace fact::match {

using graph::NodeId;

namespace {

constexpr std::size_t kMostOperators = 64;  // of a region
constexpr std::size_t kMostTexts = 16;      // that are written for one convolution
constexpr double kMostTimesSlower = 8;      // than separate operators, by the bounds of both

// Whether the region copies its results to channels last, though no product can walk its windows
// in images that are: the copy is quicker by itself.
bool copies_in_vain(const graph::Graph& graph, const graph::Windows& windows,
                    const Region& region) {
    const auto& images = *graph[windows.source].type;
    if (graph::walks_windows(images.dtype, images.sizes[1], true)) return false;
    return std::ranges::any_of(region.nodes, [&](NodeId id) {
        return graph::changes_layout(graph, graph[id]) &&
               graph::image_layout(graph[graph[id].outputs.front()].type) ==
                   graph::ImageLayout::last;
    });
}

Result<> offer_regions(Search& search, NodeId id, std::vector<Candidate>& found) {
    const graph::Graph& graph = search.graph;
    const auto windows = graph::read_windows(graph, graph[id]);
    if (!windows) return windows.error();
    auto anchor = start_at(graph, windows->source, "conv");
    if (!anchor) return Error{"a kernel cannot read its input", ""};
    anchor->form = graph::ProductForm::convolution;
    anchor->space.convolution = id;
    Facts facts = search.facts;
    Growth growth = grow(graph, facts, std::move(*anchor), {}, kMostOperators);
    facts.after_product.clear();
    auto all = regions_with_and_without_updates(graph, facts, growth);
    std::erase_if(all, [&](const Region& region) {
        return !std::ranges::binary_search(region.nodes, id) ||
               copies_in_vain(graph, *windows, region);
    });
    std::string why = growth.stops.contains(id) ? growth.stops.at(id) : "it stands alone";
    if (all.size() > kMostTexts) all.resize(kMostTexts);
    bool any = false;
    for (const Region& region : all) {
        auto pattern = guarded(
            [&] { return write_pattern(graph, facts, region, search.options, search.gpu); });
        if (!pattern) {
            why = pattern.error().message;
            continue;
        }
        // cuDNN was seen at 15 times its bound; measuring decides.
        if (pattern->cost.expected_us > kMostTimesSlower * pattern->cost.unfused_us) {
            why = "copying its windows would take longer than torch's own convolution";
            continue;
        }
        const bool rowwise = has_rowwise(graph, region);
        found.push_back({id, region.nodes, std::move(*pattern), rowwise});
        any = true;
    }
    for (const auto& [node, reason] : growth.stops) search.note(node, reason);
    if (!any) return Error{why, ""};
    return Ok{};
}

std::vector<Candidate> find_convolutions(Search& search) {
    std::vector<Candidate> found;
    for (std::size_t i = 0; i < search.graph.nodes.size(); ++i) {
        const auto id = static_cast<NodeId>(i);
        const graph::Node& node = search.graph[id];
        if (graph::window_kind(node) != graph::WindowKind::convolution) continue;
        if (is_anchor(node) && read_anchor(search.graph, id).ok()) continue;  // a plain product
        if (auto done = guarded([&] { return offer_regions(search, id, found); }); !done)
            search.replace_reason(id, done.error().message);
    }
    return found;
}

}  // namespace

// Declared and listed in families.cpp.
extern const Family kConvolutions{'c', Round::first, Anywhere{find_convolutions}};

}  // namespace fact::match
