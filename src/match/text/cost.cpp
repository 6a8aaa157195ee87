#include "match/text/cost.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_set>

#include "ir/extents.h"
#include "sol/work.h"
#include "support/result.h"
#include "target/arch.h"

namespace fact::match {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

double add_operators(const Graph& graph, const std::vector<NodeId>& nodes, const Options& options,
                     const GpuSpec& gpu, Cost& cost) {
    double flops = 0;
    for (const NodeId id : nodes) {
        const sol::NodeWork node_work = sol::work_of(graph, graph[id]);
        const sol::Work work = sol::as_work(node_work, sol::Runner::torch, options.tf32);
        flops += work.flops;
        cost.unfused_bytes += node_work.bytes();
        cost.unfused_us += sol::kernel_bound(work, gpu).calibrated_us;
    }
    return flops;
}

Cost cost_of(const Graph& graph, const Region& region, const Layout& layout, const Options& options,
             const GpuSpec& gpu) {
    Cost cost;
    cost.flops = 2;  // a multiplication and an addition for each term
    for (const Atoms& dim : {layout.m, layout.n, layout.k})
        cost.flops *= static_cast<double>(layout.extent(dim));
    for (const Atoms& dim : layout.batches) cost.flops *= static_cast<double>(layout.extent(dim));
    if (region.second || region.anchor.cut) cost.flops *= 2;

    // A value that is bound twice is read from memory once, but each of its halves counts.
    std::map<std::pair<ValueId, int>, double> reads;
    const auto read = [&](const KernelTensor& tensor) {
        double bytes = info(graph[tensor.value].type->dtype).bytes;
        for (const Atoms& dim : tensor.order) bytes *= static_cast<double>(layout.extent(dim));
        auto& most = reads[{tensor.value, tensor.half ? tensor.half->number : 0}];
        most = std::max(most, bytes);
    };
    read(layout.a);
    read(layout.b);
    for (const auto& side : layout.sides) read(side);
    for (const auto& [tensor, bytes] : reads) cost.bytes += bytes;
    for (const ValueId value : region.outputs) cost.bytes += sol::stored_bytes(*graph[value].type);

    const DType operands = graph[region.anchor.a].type->dtype;
    const auto unit = sol::kernel_unit(operands, uses_tf32(region, options));
    const auto fused = sol::kernel_bound({cost.flops, cost.bytes, unit}, gpu);
    cost.hard_us = fused.hard_us;
    cost.bound_us = fused.calibrated_us;
    add_operators(graph, region.nodes, options, gpu, cost);
    return cost;
}

Cost cost_of(const Graph& graph, const std::vector<NodeId>& nodes, const Pattern& pattern,
             const Options& options, const GpuSpec& gpu) {
    Cost cost;
    std::unordered_set<std::string_view> moved(pattern.inputs.begin(), pattern.inputs.end());
    moved.insert(pattern.outputs.begin(), pattern.outputs.end());
    for (const auto& value : graph.values) {
        if (moved.empty()) break;
        if (moved.erase(value.name) > 0) cost.bytes += sol::stored_bytes(*value.type);
    }
    cost.flops = add_operators(graph, nodes, options, gpu, cost);
    const NodeId most = std::ranges::max(
        nodes, {}, [&](NodeId id) { return sol::work_of(graph, graph[id]).flops; });
    const auto unit =
        sol::as_work(sol::work_of(graph, graph[most]), sol::Runner::torch, options.tf32).unit;
    const auto fused = sol::kernel_bound({cost.flops, cost.bytes, unit}, gpu);
    cost.hard_us = fused.hard_us;
    cost.bound_us = cost.expected_us = fused.calibrated_us;
    return cost;
}

namespace {

// By dimension id, of the kernel or of one that has more dimensions.
std::vector<std::int64_t> extents_in(const ir::Kernel& kernel,
                                     const std::map<std::string, std::int64_t>& named) {
    std::vector<std::int64_t> extents;
    for (const ir::Dim& dim : kernel.dims) {
        const auto known = named.find(dim.name);
        extents.push_back(known == named.end() ? ir::kUnknownExtent : known->second);
    }
    if (const auto problem = ir::solve_extents(kernel, extents); !problem.empty())
        throw InternalError(fmt::format("kernel {}: {}", kernel.name, problem));
    return extents;
}

double elements(const ir::Kernel& kernel, const std::vector<std::int64_t>& extents,
                const std::vector<ir::DimId>& dims) {
    double product = 1;
    for (const ir::DimId factor : kernel.factors(dims))
        product *= static_cast<double>(extents[ir::index(factor)]);
    return product;
}

// The stages that the kernel will have. Whether a product reads windows depends on their extents,
// so that such kernels are planned as for lowering.
Result<lower::Pipeline> pipeline_of(const WrittenKernel& written, const Options& options) {
    const auto is_window = [](const ir::Expr& expr) {
        return std::holds_alternative<ir::Window>(expr.node);
    };
    if (std::ranges::none_of(written.kernel.exprs, is_window)) {
        const Arch* arch = find_arch(options.arch);
        return lower::cut(written.kernel,
                          {.two_sums = arch && info(arch->skeletons.front()).two_sums});
    }
    lower::LowerOptions lowering =
        lowering_of(written.kernel, written.extents, written.params, written.results);
    lowering.arch = options.arch;
    return lower::stages(written.kernel, lowering);
}

}  // namespace

lower::LowerOptions lowering_of(const ir::Kernel& kernel,
                                const std::map<std::string, std::int64_t>& extents,
                                const std::vector<graph::Binding>& params,
                                const std::vector<graph::Binding>& results) {
    lower::LowerOptions options;
    for (const ir::Dim& dim : kernel.dims) {
        const auto known = extents.find(dim.name);
        options.extents.push_back(known == extents.end() ? ir::kUnknownExtent : known->second);
    }
    std::string previous;  // the parts of one tensor follow one another and count once
    for (const auto* bindings : {&params, &results})
        for (const graph::Binding& binding : *bindings) {
            if (binding.tensor != previous) options.alignment.push_back(binding.alignment);
            previous = binding.tensor;
        }
    return options;
}

double elements(const WrittenKernel& written, const std::vector<ir::DimId>& dims) {
    return elements(written.kernel, extents_in(written.kernel, written.extents), dims);
}

Result<std::vector<StageCost>> stage_costs(const WrittenKernel& written, const Options& options,
                                           const GpuSpec& gpu) {
    const auto pipeline = pipeline_of(written, options);
    if (!pipeline) return pipeline.error();
    const auto origins = lower::origins(*pipeline);
    const auto constant = [&](int param) {
        const std::string& name = written.kernel.params[static_cast<std::size_t>(param)].name;
        return std::ranges::all_of(written.params, [&](const graph::Binding& binding) {
            return binding.tensor != name || binding.constant;
        });
    };
    const auto runs_once = [&](const lower::Stage& stage) {
        return lower::writes_only_intermediates(*pipeline, stage) &&
               std::ranges::all_of(stage.outputs, [&](int output) {
                   return std::ranges::all_of(origins[static_cast<std::size_t>(output)], constant);
               });
    };
    const auto extents = extents_in(pipeline->kernel, written.extents);
    const auto count = [&](const std::vector<ir::DimId>& dims) {
        return elements(pipeline->kernel, extents, dims);
    };
    std::vector<StageCost> costs;
    for (const lower::Stage& stage : pipeline->stages) {
        if (runs_once(stage)) continue;
        sol::Work work{0, 0, sol::Unit::tensor_16bit};
        std::vector<std::string> names;
        const auto add_bytes = [&](const ir::Tensor& tensor) {
            work.bytes += info(tensor.type.dtype).bytes * count(tensor.type.dims);
        };
        for (const ir::Tensor& param : stage.kernel.params) add_bytes(param);
        for (const ir::Output& output : stage.kernel.outputs) {
            add_bytes(output.tensor);
            names.push_back(output.tensor.name);
        }
        for (const ir::Expr& expr : stage.kernel.exprs)
            if (const auto* product = std::get_if<ir::Product>(&expr.node)) {
                const ir::Type& a = stage.kernel[product->a].type;
                work.flops += 2 * count(expr.type.dims) * count({a.dims.back()});
                work.unit = sol::kernel_unit(a.dtype, product->precision == ir::Precision::tf32);
            }
        const auto least = sol::kernel_bound(work, gpu);
        const double moving_us = sol::bound({0, work.bytes, work.unit}, gpu).hard_us;
        // Attention need not compute scores that its mask hides, so flops do not bound it.
        const bool needs_all_flops = stage.kind != lower::StageKind::attention;
        costs.push_back({fmt::format("{}", fmt::join(names, ", ")), stage.kind, work,
                         needs_all_flops ? least.hard_us : moving_us, least.calibrated_us,
                         sol::bound({work.flops, 0, work.unit}, gpu).calibrated_us,
                         sol::bound({0, work.bytes, work.unit}, gpu).calibrated_us,
                         stage.kernel.name});
    }
    return costs;
}

Result<double> staged_us(const WrittenKernel& written, const Options& options, const GpuSpec& gpu) {
    const auto costs = stage_costs(written, options, gpu);
    if (!costs) return costs.error();
    double total = 0;
    for (const StageCost& cost : *costs) total += cost.bound_us;
    return total;
}

}  // namespace fact::match
