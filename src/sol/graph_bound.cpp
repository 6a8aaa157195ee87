#include "sol/graph_bound.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace fact::sol {

using graph::Graph;
using graph::NodeId;
using graph::OperatorKind;
using graph::ValueId;

namespace {

// The bytes of memory that a value covers; 0 if its type is not known.
double value_bytes(const Graph& graph, ValueId value) {
    const auto& type = graph[value].type;
    return type ? stored_bytes(*type) : 0;
}

// Chooses parts greedily, the one that saves most first; parts that overlap a chosen one or lose
// time are skipped.
std::vector<std::size_t> choose(const std::vector<NodeBound>& nodes,
                                const std::vector<Part>& parts) {
    std::vector<double> savings;
    for (const Part& part : parts) {
        double unfused = 0;
        for (const NodeId node : part.nodes) unfused += nodes[graph::index(node)].unfused_us;
        savings.push_back(unfused - part.bound.calibrated_us);
    }
    std::vector<std::size_t> order(parts.size()), chosen;
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](auto a, auto b) { return savings[a] > savings[b]; });
    std::set<NodeId> taken;
    for (const std::size_t i : order) {
        const auto overlaps = [&](NodeId node) { return taken.contains(node); };
        constexpr double kRounding = 1e-9;  // microseconds
        if (savings[i] < -kRounding || std::ranges::any_of(parts[i].nodes, overlaps)) continue;
        taken.insert(parts[i].nodes.begin(), parts[i].nodes.end());
        chosen.push_back(i);
    }
    std::ranges::sort(chosen);
    return chosen;
}

// The nodes, with the flops of products reduced to those that a part needs (Part::product_flops).
std::vector<NodeBound> needed_work(std::vector<NodeBound> nodes, const std::vector<Part>& parts) {
    for (const Part& part : parts) {
        double total = 0;
        for (const NodeId id : part.nodes)
            if (const auto& work = nodes[graph::index(id)].work; work.product_operands)
                total += work.flops;
        if (part.product_flops == 0 || part.product_flops >= total) continue;
        for (const NodeId id : part.nodes)
            if (auto& work = nodes[graph::index(id)].work; work.product_operands)
                work.flops *= part.product_flops / total;
    }
    return nodes;
}

}  // namespace

std::vector<NodeBound> node_bounds(const Graph& graph, Tf32 tf32, const GpuSpec& gpu) {
    std::vector<NodeBound> bounds;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        NodeBound own;
        own.node = static_cast<NodeId>(i);
        own.work = work_of(graph, graph.nodes[i]);
        own.bound = kernel_bound(as_work(own.work, Runner::kernel, tf32), gpu);
        own.unfused_us = kernel_bound(as_work(own.work, Runner::torch, tf32), gpu).calibrated_us;
        bounds.push_back(std::move(own));
    }
    return bounds;
}

double least_bytes(const Graph& graph, const std::vector<NodeBound>& nodes) {
    // How much of each value is read, found backwards: of a view's input, what is read of the view.
    std::vector<double> needed(graph.values.size());
    const auto need = [&](ValueId value, double bytes) {
        double& most = needed[graph::index(value)];
        most = std::min(std::max(most, bytes), value_bytes(graph, value));
    };
    std::map<ValueId, double> written;  // by the value that owns the memory: views are not copies
    for (const auto& output : graph.outputs) {
        if (!output.value) continue;
        ValueId root = *output.value;
        while (const auto producer = graph[root].producer) {
            const auto reads = graph::tensor_inputs(graph[*producer]);
            if (nodes[graph::index(*producer)].work.kind != OperatorKind::view || reads.empty())
                break;
            root = reads.front();
        }
        // A result that is an input, or a view of one, need not be written.
        if (graph[root].producer)
            written[root] = std::max(written[root], value_bytes(graph, *output.value));
    }
    double bytes = 0;
    for (const auto& [root, written_bytes] : written) bytes += written_bytes;
    for (std::size_t i = nodes.size(); i-- > 0;) {
        const NodeWork& work = nodes[i].work;
        for (const Access& read : work.reads) need(read.value, read.bytes);
        if (work.kind != OperatorKind::view) continue;
        double read = 0;  // of all outputs: a split has several
        for (const ValueId out : graph.nodes[i].outputs) read += needed[graph::index(out)];
        const auto reads = graph::tensor_inputs(graph.nodes[i]);
        if (!reads.empty()) need(reads.front(), read);
    }
    for (const auto& input : graph.inputs) bytes += needed[graph::index(input.value)];
    return bytes;
}

Bound ideal_bound(const std::vector<NodeBound>& nodes, double bytes, Tf32 tf32,
                  const GpuSpec& gpu) {
    Bound tensor, cuda_cores;
    for (const NodeBound& node : nodes) {
        Work work = as_work(node.work, Runner::kernel, tf32);
        work.bytes = 0;
        const Bound own = bound(work, gpu);
        Bound& sum = work.unit == Unit::cuda_core_fp32 ? cuda_cores : tensor;
        sum.hard_us += own.hard_us;
        sum.calibrated_us += own.calibrated_us;
    }
    const Bound moved = kernel_bound({0, bytes, Unit::cuda_core_fp32}, gpu);
    return {std::max({moved.hard_us, tensor.hard_us, cuda_cores.hard_us}),
            std::max({moved.calibrated_us, tensor.calibrated_us, cuda_cores.calibrated_us})};
}

GraphBound graph_bound(const Graph& graph, const std::vector<NodeBound>& nodes,
                       const std::vector<Part>& parts, Tf32 tf32, const GpuSpec& gpu) {
    GraphBound total;
    for (const NodeBound& node : nodes) {
        total.flops += node.work.flops;
        total.unfused_bytes += node.work.bytes();
        total.unfused_us += node.unfused_us;
        total.only_bytes += node.work.only_bytes;
    }
    total.used = choose(nodes, parts);
    std::set<NodeId> fused;
    for (const std::size_t i : total.used) {
        fused.insert(parts[i].nodes.begin(), parts[i].nodes.end());
        total.fused.hard_us += parts[i].bound.hard_us;
        total.fused.calibrated_us += parts[i].bound.calibrated_us;
    }
    for (const NodeBound& node : nodes) {
        if (fused.contains(node.node)) continue;
        total.fused.hard_us += bound(as_work(node.work, Runner::torch, tf32), gpu).hard_us;
        total.fused.calibrated_us += node.unfused_us;
    }
    total.least_bytes = least_bytes(graph, nodes);
    total.ideal = ideal_bound(needed_work(nodes, parts), total.least_bytes, tf32, gpu);
    return total;
}

}  // namespace fact::sol
