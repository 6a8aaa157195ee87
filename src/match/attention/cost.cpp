#include "match/attention/cost.h"

#include "match/text/cost.h"
#include "sol/work.h"

namespace fact::match {

using graph::Graph;
using graph::NodeId;

Cost cost_of(const Graph& graph, const std::vector<NodeId>& nodes, const AttentionCall& call,
             const WrittenKernel& written, const Options& options, const GpuSpec& gpu) {
    Cost cost;
    std::int64_t batch = 1;
    for (const Axis axis : call.batch()) batch *= call.extent(axis);
    const auto matrices = [&](Axis rows, Axis columns) {
        graph::TensorType type;
        type.sizes = {batch, call.extent(rows), call.extent(columns)};
        return type;
    };
    const auto work =
        sol::attention_work(matrices(call.m, call.d), matrices(call.n, call.d),
                            matrices(call.n, call.e), call.sight.causal, call.sight.window);
    cost.flops = cost.product_flops = work.flops;
    const auto bytes = [&](const ir::Tensor& tensor) {
        return info(tensor.type.dtype).bytes * elements(written, tensor.type.dims);
    };
    for (const ir::Tensor& param : written.kernel.params) {
        const bool is_key_or_value = param.name == "k" || param.name == "v";
        cost.bytes += bytes(param) * (is_key_or_value ? work.keys_read : 1);
    }
    cost.bytes += bytes(written.kernel.outputs.front().tensor);
    const DType operands = graph[call.q.value].type->dtype;
    const auto fused = sol::kernel_bound(
        {cost.flops, cost.bytes, sol::kernel_unit(operands, options.tf32.products)}, gpu);
    cost.hard_us = fused.hard_us;
    cost.bound_us = cost.expected_us = fused.calibrated_us;
    add_operators(graph, nodes, options, gpu, cost);
    return cost;
}

}  // namespace fact::match
