// Operators of torch that look along dimensions: reductions, softmax, norms, pooling, triangles.
// One table, as for the pointwise ones.
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

// Dimensions of the operator's input that belong together: whole ones, and the inner part of one.
struct DimGroup {
    struct Part {
        std::size_t dim = 0;
        std::int64_t extent = 1;
    };
    std::vector<std::size_t> dims;
    std::optional<Part> part;
};

// What families of rules look for among them.
enum class RowwiseKind { other, mean, softmax, norm };

struct RowwiseOp {
    std::string_view target, tag;
    std::string_view input;  // the argument it looks along
    bool reduces = false;    // the result lacks the first group
    // The results, from the input and the kernel's dimensions of each group.
    std::vector<ir::ExprId> (*build)(Translation&, ir::ExprId,
                                     const std::vector<std::vector<ir::DimId>>&);
    RowwiseKind kind = RowwiseKind::other;
};

// The table's row for a node, or nullptr.
const RowwiseOp* find_rowwise(const graph::Node& node);

// What it looks along: a reduction's dimensions, or what it counts. An Error says why not.
Result<std::vector<DimGroup>> dim_groups(const graph::Graph& graph, const graph::Node& node);
// Whether its other tensors run along dimension 1, else along the last ones.
bool by_channel(const graph::Node& node);

// Why a kernel cannot compute the node, or "".
std::string unsupported_rowwise(const graph::Graph& graph, const graph::Node& node);

}  // namespace fact::match
