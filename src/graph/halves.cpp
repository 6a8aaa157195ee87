#include "graph/halves.h"

#include <algorithm>

#include "graph/arguments.h"

namespace fact::graph {

namespace {

// The argument "dim" (if it was left out: 0), counted from the left; nullopt if it is out of range.
std::optional<std::size_t> dim_argument(const Node& node, std::size_t rank) {
    const std::int64_t dim = int_argument(node, "dim").value_or(0);
    const std::int64_t at = dim < 0 ? dim + static_cast<std::int64_t>(rank) : dim;
    if (at < 0 || at >= static_cast<std::int64_t>(rank)) return std::nullopt;
    return static_cast<std::size_t>(at);
}

// A bound of a slice, as an index along a dimension of `size` elements.
std::int64_t clamped(std::int64_t at, std::int64_t size) {
    return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
}

// Sets place and halves of `halving`; false if the slice is not a half.
bool read_slice(const Node& node, std::int64_t size, Halving& halving) {
    const std::int64_t step = int_argument(node, "step").value_or(1);
    const std::int64_t start = clamped(int_argument(node, "start").value_or(0), size);
    const std::int64_t end = clamped(int_argument(node, "end").value_or(size), size);
    if (size == 0 || size % 2 != 0) return false;
    if (step == 1 && end - start == size / 2 && start % (size / 2) == 0) {
        halving.halves = {start == 0 ? 0 : 1};
        return true;
    }
    // With step 2 from 0 the last element is not taken, so the slice may end before it.
    if (step != 2 || start > 1 || end < size - 1 + start) return false;
    halving.place = HalfPlace::inner;
    halving.halves = {static_cast<int>(start)};
    return true;
}

}  // namespace

std::optional<Halving> read_halving(const Graph& graph, const Node& node) {
    const auto source = tensor_argument(node, "self");
    if (!source || !graph[*source].type) return std::nullopt;
    const auto& sizes = graph[*source].type->sizes;
    const auto dim = dim_argument(node, sizes.size());
    if (!dim) return std::nullopt;
    Halving halving{*source, *dim, HalfPlace::outer, {0, 1}};
    const std::int64_t size = sizes[*dim];
    if (node.target == "aten.slice.Tensor")
        return read_slice(node, size, halving) ? std::optional(halving) : std::nullopt;
    if (node.target == "aten.select.int" && size == 2) {
        const auto index = int_argument(node, "index");
        if (!index || *index < -2 || *index > 1) return std::nullopt;
        halving.place = HalfPlace::single;
        halving.halves = {static_cast<int>(*index < 0 ? *index + 2 : *index)};
        return halving;
    }
    if (node.target == "aten.unbind.int" && size == 2) {
        halving.place = HalfPlace::single;
        return halving;
    }
    const bool splits = node.target == "aten.chunk.default" || node.target == "aten.split.Tensor" ||
                        node.target == "aten.split_with_sizes.default";
    if (!splits || node.outputs.size() != 2) return std::nullopt;
    for (const ValueId value : node.outputs)
        if (!graph[value].type || 2 * graph[value].type->sizes[*dim] != size) return std::nullopt;
    return halving;
}

std::optional<Joining> read_joining(const Graph& graph, const Node& node) {
    const bool stacks = node.target == "aten.stack.default";
    if (!stacks && node.target != "aten.cat.default") return std::nullopt;
    const auto halves = tensor_inputs(node);
    const auto& type = graph[node.outputs.front()].type;
    if (halves.size() != 2 || !type) return std::nullopt;
    const auto dim = dim_argument(node, type->sizes.size());
    if (!dim) return std::nullopt;
    return Joining{{halves[0], halves[1]}, *dim, stacks};
}

}  // namespace fact::graph
