#include "graph/cats.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "graph/arguments.h"
#include "graph/fused.h"
#include "graph/image_layout.h"

namespace fact::graph {

namespace {

bool is_written_in_place(const Node& node) {
    return node.target == kCatTarget || node.target == kStackTarget;
}

// Whether the parts' sizes add up to those of the result.
bool fit(const Graph& graph, const Cat& cat, const TensorType& whole) {
    std::int64_t along = 0;
    for (const ValueId part : cat.parts) {
        const auto& type = graph[part].type;
        if (!type || type->dynamic || type->dtype != whole.dtype || !has_sane_size(*type))
            return false;
        auto sizes = type->sizes;
        if (cat.adds_dim && sizes.size() + 1 == whole.sizes.size())
            sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(cat.dim), 1);
        if (sizes.size() != whole.sizes.size()) return false;  // also torch's empty tensors
        along += sizes[cat.dim];
        sizes[cat.dim] = whole.sizes[cat.dim];
        if (sizes != whole.sizes) return false;
    }
    return along == whole.sizes[cat.dim];
}

}  // namespace

std::optional<Cat> read_cat(const Graph& graph, const Node& node) {
    Cat cat;
    cat.adds_dim = node.target == kStackTarget || node.target == "aten.stack.default";
    if (!cat.adds_dim && node.target != kCatTarget && node.target != "aten.cat.default")
        return std::nullopt;
    const auto* parts = find_argument(node, "tensors");
    if (!parts || !std::holds_alternative<std::vector<ValueId>>(*parts) || node.outputs.size() != 1)
        return std::nullopt;
    cat.parts = std::get<std::vector<ValueId>>(*parts);
    const auto& whole = graph[node.outputs[0]].type;
    if (!whole || whole->dynamic || !has_sane_size(*whole)) return std::nullopt;
    const auto rank = static_cast<std::int64_t>(whole->sizes.size());
    std::int64_t dim = int_argument(node, "dim").value_or(0);
    if (dim < 0) dim += rank;
    if (dim < 0 || dim >= rank) return std::nullopt;
    cat.dim = static_cast<std::size_t>(dim);
    if (!fit(graph, cat, *whole)) return std::nullopt;
    if (!is_written_in_place(node)) {
        cat.in_place.assign(cat.parts.size(), false);
        return cat;
    }
    const auto* flags = find_argument(node, "in_place");
    if (!flags || !std::holds_alternative<std::vector<bool>>(*flags)) return std::nullopt;
    cat.in_place = std::get<std::vector<bool>>(*flags);
    if (cat.in_place.size() != cat.parts.size()) return std::nullopt;
    return cat;
}

void write_cat(Node& node, const Cat& cat) {
    node.target = cat.adds_dim ? kStackTarget : kCatTarget;
    node.inputs = {{"tensors", cat.parts, false},
                   {"dim", static_cast<std::int64_t>(cat.dim), false},
                   {"in_place", cat.in_place, false}};
}

std::vector<TensorType> part_layouts(const Graph& graph, const Cat& cat, const TensorType& whole) {
    std::vector<TensorType> layouts;
    std::int64_t offset = whole.offset;
    const auto dim = static_cast<std::ptrdiff_t>(cat.dim);
    for (const ValueId part : cat.parts) {
        TensorType layout = *graph[part].type;
        layout.strides = whole.strides;
        layout.offset = offset;
        offset += whole.strides[cat.dim] * (cat.adds_dim ? 1 : layout.sizes[cat.dim]);
        if (cat.adds_dim) layout.strides.erase(layout.strides.begin() + dim);
        layouts.push_back(std::move(layout));
    }
    return layouts;
}

bool fills_memory(const TensorType& type) {
    std::vector<std::size_t> order(type.sizes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t d) { return type.strides[d]; });
    std::int64_t length = 1;
    for (const std::size_t d : order) {
        if (type.sizes[d] == 1) continue;
        if (type.sizes[d] < 1 || type.strides[d] != length) return false;
        length *= type.sizes[d];
    }
    return true;
}

std::string why_not_in_place(const Graph& graph, ValueId part) {
    const auto& producer = graph[part].producer;
    if (!producer) return "is an input of the module";
    const Node& node = graph[*producer];
    return node.target == kFusedTarget || read_cat(graph, node) ? "" : "is computed by torch";
}

Spots spots(const Graph& graph) {
    Spots all;
    // From the last to the first: a cat comes after those that are parts of it.
    for (std::size_t i = graph.nodes.size(); i-- > 0;) {
        const Node& node = graph.nodes[i];
        const auto cat = is_written_in_place(node) ? read_cat(graph, node) : std::nullopt;
        if (!cat) continue;
        const ValueId own = node.outputs[0];
        if (!all.contains(own)) {
            TensorType memory = *graph[own].type;
            memory.offset = 0;
            all[own] = {own, memory, memory};
        }
        const Spot whole = all[own];
        const auto layouts = part_layouts(graph, *cat, whole.layout);
        for (std::size_t p = 0; p < cat->parts.size(); ++p)
            if (cat->in_place[p]) all[cat->parts[p]] = {whole.whole, whole.memory, layouts[p]};
    }
    return all;
}

std::string misplaced(const Graph& graph) {
    std::set<ValueId> placed;
    for (const Node& node : graph.nodes) {
        if (!is_written_in_place(node)) continue;
        const auto cat = read_cat(graph, node);
        if (!cat) return fmt::format("node '{}' does not put its tensors together", node.name);
        if (!fills_memory(*graph[node.outputs[0]].type))
            return fmt::format("the result of node '{}' does not fill its memory", node.name);
        for (std::size_t p = 0; p < cat->parts.size(); ++p) {
            if (!cat->in_place[p]) continue;
            const auto& name = graph[cat->parts[p]].name;
            if (const auto why = why_not_in_place(graph, cat->parts[p]); !why.empty())
                return fmt::format("'{}' cannot be written in place: it {}", name, why);
            if (!placed.insert(cat->parts[p]).second)
                return fmt::format("'{}' is written in place twice", name);
        }
    }
    return {};
}

}  // namespace fact::graph
