#include "match/norms/norm.h"

#include <fmt/format.h>

#include <algorithm>

#include "match/norms/region.h"
#include "match/norms/write.h"
#include "match/operators/rowwise.h"
#include "match/text/cost.h"
#include "match/text/write.h"

namespace fact::match {

using graph::Graph;
using graph::Node;
using graph::NodeId;

namespace {

constexpr std::int64_t kLongestRow = 16384;  // what a kernel keeps in registers

}  // namespace

bool is_norm(const Graph& graph, const Node& node) {
    const RowwiseOp* op = find_rowwise(node);
    return op && (op->tag == "layer_norm" || op->tag == "rms_norm" || op->tag == "mean") &&
           looks_along_rows(graph, node);
}

Result<NormPattern> norm_pattern(const Graph& graph, const Facts& facts,
                                 const std::set<NodeId>& taken, NodeId node, const Options& options,
                                 const GpuSpec& gpu) {
    const NormRegion region = grow_norm(graph, facts, taken, node);
    if (region.outputs.empty())
        return Error{"only the statistics of its rows are used, not the rows", ""};
    if (region.rows.back() > kLongestRow)
        return Error{fmt::format("its rows are longer than {} elements", kLongestRow), ""};
    const auto written = write_norm(graph, facts, region, node);
    if (!written) return written.error();
    NormPattern found{region.nodes, assemble(graph, region.nodes, region.outputs, *written)};
    Pattern& pattern = found.pattern;
    pattern.rule = "norm";
    pattern.where = graph[node].where;
    const auto& row = *graph[region.outputs.back()].type;
    pattern.problem.operands = pattern.problem.output = row.dtype;
    pattern.problem.m = 1;
    for (const auto size : region.rows) pattern.problem.m *= size;
    pattern.problem.n = region.rows.back();
    pattern.problem.m /= pattern.problem.n;
    pattern.problem.k = 1;
    pattern.cost = cost_of(graph, region.nodes, pattern, options, gpu);
    finish(graph, pattern);
    return found;
}

}  // namespace fact::match
