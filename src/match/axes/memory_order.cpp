#include "match/axes/memory_order.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

namespace fact::match {

namespace {

// A dimension of memory, outermost first, and a part of it.
using Position = std::pair<std::size_t, std::size_t>;

// The dimensions of more than one element, outermost first.
std::vector<std::size_t> wide_dims(const graph::Graph& graph, const PlacedTensor& tensor) {
    const auto& type = *graph[tensor.value].type;
    std::vector<std::size_t> dims;
    for (std::size_t i = 0; i < tensor.shape.size(); ++i)
        if (type.sizes[i] > 1 && !tensor.shape[i].empty()) dims.push_back(i);
    std::ranges::stable_sort(dims, std::ranges::greater(),
                             [&](std::size_t dim) { return type.strides[dim]; });
    return dims;
}

// The result to follow, nullptr to follow what is read.
const PlacedTensor* leading_result(const graph::Graph& graph, const PlacedTensor& read,
                                   std::span<const PlacedTensor> results) {
    const auto order = wide_dims(graph, read);
    const PlacedTensor* found = nullptr;
    for (const PlacedTensor& result : results) {
        const auto written = wide_dims(graph, result);
        if (written.empty() || written.size() < order.size() || result.shape == read.shape)
            continue;
        if (written.back() == order.back()) return nullptr;
        if (!found) found = &result;
    }
    return found;
}

// Axes that are not in this memory, such as taps, are missing.
std::map<Axis, Position> positions(const graph::Graph& graph, const Space& space,
                                   const PlacedTensor& read,
                                   std::span<const PlacedTensor> results) {
    const PlacedTensor* result = leading_result(graph, read, results);
    const PlacedTensor& leader = result ? *result : read;
    const auto dims = wide_dims(graph, leader);
    std::map<Axis, Position> found;
    for (std::size_t i = 0; i < dims.size(); ++i)
        for (std::size_t j = 0; j < leader.shape[dims[i]].size(); ++j)
            found.emplace(leader.shape[dims[i]][j], Position(i, j));
    const auto follow = [&](const std::vector<Axis>& axes, const std::vector<Axis>& leaders) {
        const auto at = leaders.empty() ? found.end() : found.find(leaders.front());
        if (at == found.end()) return;
        const std::size_t dim = at->second.first;
        for (std::size_t i = 0; i < axes.size(); ++i) found.emplace(axes[i], Position(dim, i));
    };
    const auto follow_through = [&](const AxisWindows& windows) {
        const auto between = [&](const std::vector<Axis>& before, const std::vector<Axis>& after) {
            result ? follow(before, after) : follow(after, before);
        };
        for (const AxisWindow& window : windows.windows) between({window.of}, {window.places});
        between(windows.channels, windows.features);
    };
    std::vector<const AxisWindows*> all;  // those that are followed first
    for (const auto& [node, windows] : space.windows()) all.push_back(&windows);
    if (result) std::ranges::reverse(all);
    for (const AxisWindows* windows : all) follow_through(*windows);
    return found;
}

}  // namespace

void follow_memory(const graph::Graph& graph, const Space& space, const PlacedTensor& read,
                   std::span<const PlacedTensor> results, Layout& layout) {
    const auto found = positions(graph, space, read, results);
    std::vector<int> sorted(layout.atoms.size());
    std::iota(sorted.begin(), sorted.end(), 0);
    std::ranges::stable_sort(sorted, {}, [&](int atom) {
        const auto at = found.find(layout.atoms[static_cast<std::size_t>(atom)].axes.front());
        return at != found.end() ? at->second : Position(found.size(), 0);
    });
    std::vector<Atom> atoms;
    std::vector<int> moved(sorted.size());
    for (const int atom : sorted) {
        moved[static_cast<std::size_t>(atom)] = static_cast<int>(atoms.size());
        atoms.push_back(layout.atoms[static_cast<std::size_t>(atom)]);
    }
    layout.atoms = std::move(atoms);
    const auto renumber = [&](Atoms& dim) {
        for (int& atom : dim) atom = moved[static_cast<std::size_t>(atom)];
    };
    for (Atoms* dim : {&layout.m, &layout.n, &layout.k}) renumber(*dim);
    std::ranges::for_each(layout.batches, renumber);
    std::ranges::for_each(layout.others, renumber);
}

}  // namespace fact::match
