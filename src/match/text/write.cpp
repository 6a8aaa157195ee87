#include "match/text/write.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include "dsl/dsl.h"
#include "match/text/cost.h"
#include "support/hash.h"

namespace fact::match {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

namespace {

schedule::Problem problem_of(const Graph& graph, const Region& region, const Layout& layout,
                             bool allow_tf32) {
    schedule::Problem problem;
    problem.operands = graph[region.anchor.a].type->dtype;
    problem.output = graph[region.outputs.front()].type->dtype;
    problem.split = problem.operands == DType::f32 && !allow_tf32;
    const auto major = [&](const KernelTensor& tensor) {
        return tensor.order.back() == layout.k ? schedule::Major::k : schedule::Major::mn;
    };
    problem.a = major(layout.a);
    problem.b = major(layout.b);
    problem.m = layout.extent(layout.m);
    problem.n = layout.extent(layout.n);
    problem.k = layout.extent(layout.k);
    for (const Atoms& dim : layout.batches) problem.batch *= layout.extent(dim);
    for (const auto& side : layout.sides) {
        const auto has = [&](const Atoms& dim) {
            return std::ranges::find(side.order, dim) != side.order.end();
        };
        if (has(layout.m) && has(layout.n)) ++problem.full_operands;
    }
    return problem;
}

schedule::Problem rows_problem_of(const Graph& graph, const Region& region, const Layout& layout) {
    schedule::Problem problem;
    problem.operands = graph[region.anchor.a].type->dtype;
    problem.output = graph[region.outputs.front()].type->dtype;
    problem.m = layout.extent(layout.m);
    problem.n = layout.extent(layout.n);
    problem.k = 1;
    for (const Atoms& dim : layout.batches) problem.batch *= layout.extent(dim);
    return problem;
}

// Everything that a realization depends on, and nothing about where the pattern was found.
std::string family_key(const Graph& graph, const Pattern& pattern) {
    const auto& p = pattern.problem;
    std::string key = fmt::format("{}\n{}x{}x{}x{} {} {} {} {} {} {}", pattern.kernel, p.batch, p.m,
                                  p.n, p.k, info(p.operands).name, info(p.output).name, p.split,
                                  static_cast<int>(p.a), static_cast<int>(p.b), p.full_operands);
    for (const auto& [name, extent] : pattern.extents) key += fmt::format(" {}={}", name, extent);
    for (const auto* bindings : {&pattern.params, &pattern.results})
        for (const auto& binding : *bindings) {
            key += fmt::format("\n{} {} {}", binding.tensor, binding.constant, binding.alignment);
            for (const auto& dims : binding.dims) key += fmt::format(" {}", dims.size());
            if (const auto& half = binding.half)
                key += fmt::format(" half {} {} {}", half->dim, half->number, half->stepped);
        }
    std::unordered_set<std::string_view> nodes(pattern.nodes.begin(), pattern.nodes.end());
    nodes.insert(pattern.copied.begin(), pattern.copied.end());
    for (const auto& node : graph.nodes) {
        if (nodes.empty()) break;
        if (nodes.erase(node.name) > 0) key += "\n" + node.target;
    }
    return key;
}

}  // namespace

Pattern assemble(const Graph& graph, const std::vector<NodeId>& nodes,
                 const std::vector<ValueId>& outputs, const WrittenKernel& written) {
    Pattern pattern;
    const std::set<NodeId> inside(nodes.begin(), nodes.end());
    for (const NodeId id : nodes) {
        pattern.nodes.push_back(graph[id].name);
        for (const ValueId value : graph::tensor_inputs(graph[id])) {
            const auto producer = graph[value].producer;
            const std::string& name = graph[value].name;
            if (producer && inside.contains(*producer)) continue;
            if (std::ranges::find(pattern.inputs, name) == pattern.inputs.end())
                pattern.inputs.push_back(name);
        }
    }
    for (const ValueId value : outputs) pattern.outputs.push_back(graph[value].name);
    pattern.kernel = dsl::to_text(written.kernel);
    pattern.extents = written.extents;
    pattern.params = written.params;
    pattern.results = written.results;
    pattern.id = written.kernel.name;
    return pattern;
}

void set_priority_and_family(const Graph& graph, Pattern& pattern) {
    pattern.priority = pattern.cost.unfused_us - pattern.cost.expected_us;
    pattern.family = fmt::format("{}_{}", pattern.id, short_hash(family_key(graph, pattern)));
}

Result<Pattern> pattern_of(const Graph& graph, const Region& region, const Layout& layout,
                           const WrittenKernel& written, const Options& options,
                           const GpuSpec& gpu) {
    Pattern pattern = assemble(graph, region.nodes, region.outputs, written);
    pattern.rule = region.anchor.rule;
    pattern.convolution = region.anchor.form == graph::ProductForm::convolution;
    const bool has_product = region.anchor.node != kNoProduct;
    pattern.problem = has_product ? problem_of(graph, region, layout, uses_tf32(region, options))
                                  : rows_problem_of(graph, region, layout);
    pattern.cost = has_product ? cost_of(graph, region, layout, options, gpu)
                               : cost_of(graph, region.nodes, pattern, options, gpu);
    const auto expected = staged_us(written, options, gpu);
    if (!expected) return expected.error();
    pattern.cost.expected_us = *expected;
    pattern.where = graph[has_product ? region.anchor.node : region.nodes.back()].where;
    set_priority_and_family(graph, pattern);
    return pattern;
}

Result<Pattern> write_pattern(const Graph& graph, const Facts& facts, const Region& region,
                              const Options& options, const GpuSpec& gpu) {
    const auto layout = layout_of(graph, region);
    if (!layout) return layout.error();
    const auto written = write_kernel(graph, facts, region, *layout, uses_tf32(region, options));
    if (!written) return written.error();
    return pattern_of(graph, region, *layout, *written, options, gpu);
}

}  // namespace fact::match
