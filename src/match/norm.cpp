#include "match/norm.h"

#include <fmt/format.h>

#include <algorithm>

#include "match/norm_region.h"
#include "match/norm_write.h"
#include "match/rowwise.h"
#include "match/write.h"
#include "sol/work.h"

namespace fact::match {

using graph::Graph;
using graph::Node;
using graph::NodeId;

namespace {

constexpr std::int64_t kLongestRow = 16384;  // what a kernel keeps in registers

Cost cost_of(const Graph& graph, const NormRegion& region, const Pattern& pattern,
             const Options& options, const GpuSpec& gpu) {
    Cost cost;
    const auto add = [&](const std::vector<std::string>& names) {
        for (const auto& value : graph.values)
            if (std::ranges::find(names, value.name) != names.end())
                cost.bytes += sol::stored_bytes(*value.type);
    };
    add(pattern.inputs);
    add(pattern.outputs);
    for (const NodeId id : region.nodes) {
        const sol::NodeWork own = sol::work_of(graph, graph[id]);
        const sol::Work work = sol::as_work(own, sol::By::torch, options.allow_tf32);
        cost.flops += work.flops;
        cost.unfused_bytes += own.bytes();
        cost.unfused_us += sol::kernel_bound(work, gpu).calibrated_us;
    }
    const sol::NodeWork one = sol::work_of(graph, graph[region.nodes.front()]);
    const auto unit = sol::as_work(one, sol::By::torch, options.allow_tf32).unit;
    const auto fused = sol::kernel_bound({cost.flops, cost.bytes, unit}, gpu);
    cost.hard_us = fused.hard_us;
    cost.bound_us = cost.expected_us = fused.calibrated_us;
    return cost;
}

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
    if (region.outputs.empty()) return Error{"no rows come of its statistics alone", ""};
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
    pattern.cost = cost_of(graph, region, pattern, options, gpu);
    finish(graph, pattern);
    return found;
}

}  // namespace fact::match
