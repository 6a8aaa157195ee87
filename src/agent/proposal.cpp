#include "agent/proposal.h"

#include <fmt/format.h>

#include <algorithm>

#include "dsl/cuda_text.h"
#include "dsl/dsl.h"
#include "match/text/cost.h"
#include "match/text/write.h"
#include "sol/graph_bound.h"
#include "support/hash.h"

namespace fact::agent {

namespace {

using graph::Graph;

GpuSpec gpu_of(const match::Options& options) {
    return options.ceilings ? *options.ceilings : *find_gpu(options.gpu);
}

// A problem with the rows and columns of the set's first output, for the report.
schedule::Problem problem_of(const Graph& graph, const NodeSet& set) {
    schedule::Problem problem;
    const auto& out = *graph[set.outputs.front()].type;
    problem.output = problem.operands = out.dtype;
    problem.n = out.sizes.empty() ? 1 : out.sizes.back();
    problem.m = 1;
    for (const auto size : out.sizes) problem.m *= size;
    problem.m = problem.n > 0 ? problem.m / problem.n : 0;
    problem.k = 1;
    return problem;
}

// An output whose value depends on no parameter; "" if there is none.
std::string output_without_input(const ir::Kernel& kernel) {
    std::vector<bool> reads(kernel.exprs.size(), false);
    for (std::size_t i = 0; i < kernel.exprs.size(); ++i) {
        const auto& node = kernel.exprs[i].node;
        reads[i] = std::holds_alternative<ir::Param>(node);
        ir::for_each_operand(node, [&](ir::ExprId id) {
            if (reads[ir::index(id)]) reads[i] = true;
        });
    }
    for (const ir::Output& output : kernel.outputs)
        if (!reads[ir::index(output.value)]) return output.tensor.name;
    return {};
}

// A text may compute the same with less work than its operators (a sum over a product's outputs is
// a product with summed weights): then its own work gives the bound.
void bound_by_text(const std::vector<match::StageCost>& stages, match::Cost& cost) {
    double hard_us = 0, bound_us = 0;
    for (const auto& stage : stages) {
        hard_us += stage.hard_us;
        bound_us += stage.bound_us;
    }
    cost.hard_us = std::min(cost.hard_us, hard_us);
    cost.bound_us = std::min(cost.bound_us, bound_us);
    cost.expected_us = bound_us;
}

}  // namespace

match::Cost cost_of(const Graph& graph, const NodeSet& set, const match::Options& options) {
    const GpuSpec gpu = gpu_of(options);
    match::Cost cost;
    for (const auto* values : {&set.inputs, &set.outputs})
        for (const auto value : *values) cost.bytes += sol::stored_bytes(*graph[value].type);
    std::vector<sol::NodeBound> inside;
    for (auto& node_bound : sol::node_bounds(graph, options.tf32, gpu)) {
        if (std::ranges::find(set.nodes, node_bound.node) == set.nodes.end()) continue;
        cost.flops += node_bound.work.flops;
        cost.unfused_bytes += node_bound.work.bytes();
        cost.unfused_us += node_bound.unfused_us;
        inside.push_back(std::move(node_bound));
    }
    const auto bound = sol::ideal_bound(inside, cost.bytes, options.tf32, gpu);
    cost.hard_us = bound.hard_us;
    cost.bound_us = cost.expected_us = bound.calibrated_us;
    return cost;
}

std::string proposal_id(const Graph& graph, const NodeSet& set) {
    std::string names;
    for (const auto id : set.nodes) names += graph[id].name + "\n";
    return "a_" + short_hash(names).substr(0, 10);
}

Result<Authored> author(const Graph& graph, const NodeSet& set, const std::string& text,
                        const match::Options& options, Diagnostics& diagnostics,
                        const Interface* interface) {
    const auto program = dsl::compile(text, diagnostics);
    if (!program) return Error{"the kernel text has mistakes", "see the diagnostics", true};
    const auto count = program->kernels.size() + program->pipelines.size();
    if (count != 1 || program->kernels.empty())
        return Error{fmt::format("the text has {} kernels and {} pipelines",
                                 program->kernels.size(), program->pipelines.size()),
                     "write one kernel; it may be cut at `stored` values", true};
    if (const auto output = output_without_input(program->kernels.front());
        !output.empty() && !set.inputs.empty() && !dsl::cuda_source(text))
        return Error{fmt::format("{} depends on no input, which is taken for an attempt to game "
                                 "the checks",
                                 output),
                     "write what the operators compute", true};
    const auto written = bind_text(program->kernels.front(), graph,
                                   interface ? *interface : interface_of(graph, set));
    if (!written) return written.error();
    auto pattern = match::assemble(graph, set.nodes, set.outputs, *written);
    // The original text, with the author's schedule blocks and comments.
    pattern.kernel = text;
    pattern.author = match::Author::agent;
    pattern.rule = name(pattern.author);
    pattern.problem = problem_of(graph, set);
    pattern.cost = cost_of(graph, set, options);
    auto stages = match::stage_costs(*written, options, gpu_of(options));
    if (!stages) return blame_input(stages.error());
    if (dsl::cuda_source(text))
        stages->clear();  // the placeholder text says nothing about its cost
    if (!stages->empty()) bound_by_text(*stages, pattern.cost);
    pattern.where = graph[set.nodes.front()].where;
    match::set_priority_and_family(graph, pattern);
    pattern.id = proposal_id(graph, set);
    return Authored{std::move(pattern), std::move(*stages)};
}

}  // namespace fact::agent
