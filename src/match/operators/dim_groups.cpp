// Along which dimensions row-wise operators work; declared in rowwise.h.
#include <numeric>

#include "graph/arguments.h"
#include "graph/operators.h"
#include "match/operators/class_losses.h"
#include "match/operators/losses.h"
#include "match/operators/rowwise.h"

namespace fact::match {

using graph::Along;
using graph::Graph;
using graph::Node;
using graph::ValueId;

namespace {

using Groups = Result<std::vector<DimGroup>>;
using Ints = std::vector<std::int64_t>;

const std::vector<std::int64_t>& sizes_of_input(const Graph& graph, const Node& node) {
    return graph[std::get<ValueId>(node.inputs.front().value)].type->sizes;
}

std::vector<std::size_t> from_dim(std::size_t first, std::size_t rank) {
    std::vector<std::size_t> dims(rank > first ? rank - first : 0);
    std::iota(dims.begin(), dims.end(), first);
    return dims;
}

// The argument "dim", one or several; all dimensions if it is missing.
Groups along_dim(const Graph& graph, const Node& node) {
    const std::size_t rank = sizes_of_input(graph, node).size();
    if (is_loss_of_each(node)) return std::vector<DimGroup>{{}};
    Ints wanted = graph::dims_argument(node);
    if (wanted.empty() && node.target == "aten.flip.default")
        return Error{"it reverses no dimension", ""};
    if (wanted.empty()) return std::vector<DimGroup>{{from_dim(0, rank), {}}};
    DimGroup group;
    for (const std::int64_t dim : wanted) {
        const std::int64_t at = dim < 0 ? dim + static_cast<std::int64_t>(rank) : dim;
        if (at < 0 || at >= static_cast<std::int64_t>(rank))
            return Error{"its dim is out of range", ""};
        group.dims.push_back(static_cast<std::size_t>(at));
    }
    return std::vector<DimGroup>{group};
}

Groups along_last(const Graph& graph, const Node& node) {
    const std::size_t rank = sizes_of_input(graph, node).size();
    const std::size_t count = graph::ints_argument(node, "normalized_shape").size();
    return std::vector<DimGroup>{{from_dim(rank - count, rank), {}}};
}

Groups along_group(const Graph& graph, const Node& node) {
    const auto& sizes = sizes_of_input(graph, node);
    const std::int64_t groups = graph::int_argument(node, "num_groups").value_or(1);
    if (sizes.size() < 2 || groups < 1 || sizes[1] % groups != 0)
        return Error{"its number of channels is not a multiple of its number of groups", ""};
    return std::vector<DimGroup>{{from_dim(2, sizes.size()), DimGroup::Part{1, sizes[1] / groups}}};
}

Groups along_channel(const Graph& graph, const Node& node) {
    if (!graph::flag_argument(node, "use_input_stats", true))
        return Error{"it normalises by running statistics", ""};
    if (graph::tensor_argument(node, "running_mean"))
        return Error{"it updates running statistics in place, which is left to torch", ""};
    return std::vector<DimGroup>{{from_dim(2, sizes_of_input(graph, node).size()), {}}};
}

Groups along_batch(const Graph& graph, const Node& node) {
    if (!graph::flag_argument(node, "training", true))
        return Error{"it does not use the statistics of its input", ""};
    std::vector<std::size_t> dims = from_dim(2, sizes_of_input(graph, node).size());
    dims.insert(dims.begin(), 0);
    return std::vector<DimGroup>{{dims, {}}};
}

Groups along_window(const Graph& graph, const Node& node) {
    const auto& sizes = sizes_of_input(graph, node);
    const Ints size = graph::ints_argument(node, "kernel_size"),
               step = graph::ints_argument(node, "stride");
    const Ints padding = graph::ints_argument(node, "padding"),
               gap = graph::ints_argument(node, "dilation");
    const bool plain = size.size() == 1 && (step.empty() || step == size) &&
                       (padding.empty() || padding == Ints{0}) && (gap.empty() || gap == Ints{1});
    if (!plain) return Error{"its windows overlap, leave gaps or are padded", ""};
    if (sizes.back() % size[0] != 0)
        return Error{"the length of its rows is not a multiple of its window", ""};
    return std::vector<DimGroup>{{{}, DimGroup::Part{sizes.size() - 1, size[0]}}};
}

Groups rows_and_columns(const Graph& graph, const Node& node) {
    const std::size_t rank = sizes_of_input(graph, node).size();
    if (rank < 2) return Error{"its input is not a matrix", ""};
    return std::vector<DimGroup>{{{rank - 2}, {}}, {{rank - 1}, {}}};
}

// The dimension that a result for each sample lacks; before it, all those that this result lacks.
Groups along_samples(const Graph& graph, const Node& node, std::size_t dim) {
    const bool loss = graph::facts_of(node).kind == graph::OperatorKind::loss;
    const DimGroup one{{dim}, {}};
    if (!loss || is_loss_of_each(node)) return std::vector<DimGroup>{one, one};
    return std::vector<DimGroup>{{from_dim(0, sizes_of_input(graph, node).size()), {}}, one};
}

}  // namespace

Groups dim_groups(const Graph& graph, const Node& node) {
    switch (graph::facts_of(node).along) {
        case Along::nothing:
            return Error{"it reduces over no dimension", ""};
        case Along::dims:
            return along_dim(graph, node);
        case Along::last:
            return along_last(graph, node);
        case Along::group:
            return along_group(graph, node);
        case Along::channel:
            return along_channel(graph, node);
        case Along::batch:
            return along_batch(graph, node);
        case Along::running:
            return std::vector<DimGroup>{};
        case Along::window:
            return along_window(graph, node);
        case Along::matrix:
            return rows_and_columns(graph, node);
        case Along::classes:
            return along_samples(graph, node, class_dim(graph, node));
        case Along::vectors:
            return along_samples(graph, node, sizes_of_input(graph, node).size() - 1);
    }
    throw InternalError("dim_groups: no such Along");
}

bool has_channel_params(const Node& node) {
    switch (graph::facts_of(node).along) {
        case Along::group:
        case Along::channel:
        case Along::batch:
        case Along::running:
            return true;
        case Along::nothing:
        case Along::dims:
        case Along::last:
        case Along::window:
        case Along::matrix:
        case Along::classes:
        case Along::vectors:
            return false;
    }
    throw InternalError("has_channel_params: no such Along");
}

}  // namespace fact::match
