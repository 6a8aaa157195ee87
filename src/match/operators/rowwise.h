// The table of torch's row-wise operators, whose elements depend on others along some dimensions:
// reductions, softmax, norms, pooling, triangles, running sums, flips.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "ir/kernel.h"
#include "match/operators/translation.h"
#include "support/result.h"

namespace fact::match {

// Dimensions of the input that an operator treats as one: whole dimensions, and perhaps the inner
// part of another one.
struct DimGroup {
    struct Part {  // the inner `extent` elements of a dimension
        std::size_t dim = 0;
        std::int64_t extent = 1;
    };
    std::vector<std::size_t> dims;
    std::optional<Part> part;
};

// The kinds that families of rules look for.
enum class RowwiseKind { other, mean, softmax, norm };

struct RowwiseOp {
    std::string_view target, tag;  // as in PointwiseOp
    std::string_view input;        // the name of its first argument
    bool reduces = false;          // the result does not have the dimensions of the first group
    // Builds the results from the input and the kernel's dimensions of each group.
    std::vector<ir::ExprId> (*build)(Translation&, ir::ExprId,
                                     const std::vector<std::vector<ir::DimId>>&);
    RowwiseKind kind = RowwiseKind::other;
    // It uses the index along a group: of a loss, along the classes; of others, along any.
    bool counts = false;
    bool needs_extents = false;  // those of the groups' dimensions must be numbers in the text
};

// Whether the node returns places along a dimension, alone or after the largest or smallest values.
bool finds_places(const graph::Node& node);

// The table's row for a node, or nullptr.
const RowwiseOp* find_rowwise(const graph::Node& node);

// The dimensions that the node works along: those it reduces or normalises over, or those whose
// index it compares. An Error says why a kernel cannot compute the node. Defined in
// dim_groups.cpp, like has_channel_params.
Result<std::vector<DimGroup>> dim_groups(const graph::Graph& graph, const graph::Node& node);
// Whether the node's parameters (weight, bias, statistics) run along dimension 1, not along the
// last dimensions.
bool has_channel_params(const graph::Node& node);

// Why a kernel cannot compute the node, or "".
std::string unsupported_rowwise(const graph::Graph& graph, const graph::Node& node);

}  // namespace fact::match
