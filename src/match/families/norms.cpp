// Norms that no product absorbs, with the pointwise operators around them: one norm operator, or
// statistics and arithmetic as separate operators.
#include <fmt/format.h>

#include "match/families/family.h"
#include "match/norms/region.h"
#include "match/norms/write.h"
#include "match/text/cost.h"
#include "match/text/write.h"

namespace fact::match {

using graph::NodeId;

namespace {

constexpr std::int64_t kLongestRow = 16384;  // elements that a kernel can keep in registers

bool begins_norm(const Search& search, const graph::Node& node) {
    return is_norm_or_mean(search.graph, node);
}

Result<Candidate> find_norm(Search& search, NodeId node) {
    const graph::Graph& graph = search.graph;
    const NormRegion region = grow_norm(graph, search.facts, search.taken, node);
    if (region.outputs.empty())
        return Error{"only the statistics of its rows are used, not the normalised rows", ""};
    if (region.sizes.back() > kLongestRow)
        return Error{fmt::format("its rows are longer than {} elements", kLongestRow), ""};
    const auto written = write_norm(graph, search.facts, region, node);
    if (!written) return written.error();
    Pattern pattern = assemble(graph, region.nodes, region.outputs, *written);
    pattern.rule = "norm";
    pattern.where = graph[node].where;
    const auto& row = *graph[region.outputs.back()].type;
    pattern.problem.operands = pattern.problem.output = row.dtype;
    pattern.problem.m = 1;
    for (const auto size : region.sizes) pattern.problem.m *= size;
    pattern.problem.n = region.sizes.back();
    pattern.problem.m /= pattern.problem.n;
    pattern.problem.k = 1;
    pattern.cost = cost_of(graph, region.nodes, pattern, search.options, search.gpu);
    set_priority_and_family(graph, pattern);
    return Candidate{node, region.nodes, std::move(pattern)};
}

// This reason is better than why a product did not absorb the norm.
void replace_reason(Search& search, NodeId node, const std::string& reason) {
    search.replace_reason(node, reason);
}

}  // namespace

// Declared and listed in families.cpp.
extern const Family kNorms{'n', Round::second, Around{begins_norm, find_norm, replace_reason}};

}  // namespace fact::match
