// What a region costs as fused kernels, and as separate operators.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lower/pipeline/lower.h"
#include "match/axes/layout.h"
#include "match/patterns/pattern.h"
#include "match/regions/region.h"
#include "match/text/write_kernel.h"
#include "sol/bound.h"
#include "target/gpu_spec.h"

namespace fact::match {

// Whether an fp32 product is computed in TF32. Torch has one setting for products and another for
// convolutions, which 1x1 convolutions follow.
inline bool uses_tf32(const Region& region, const Options& options) {
    return options.tf32.in(region.anchor.form == graph::ProductForm::convolution);
}

Cost cost_of(const graph::Graph& graph, const Region& region, const Layout& layout,
             const Options& options, const GpuSpec& gpu);

// The same for a pattern without a product: one pass over its inputs and outputs.
Cost cost_of(const graph::Graph& graph, const std::vector<graph::NodeId>& nodes,
             const Pattern& pattern, const Options& options, const GpuSpec& gpu);

// Adds the cost of the separate operators to cost.unfused_bytes and cost.unfused_us; returns their
// flops.
double add_operators(const graph::Graph& graph, const std::vector<graph::NodeId>& nodes,
                     const Options& options, const GpuSpec& gpu, Cost& cost);

// What lowering may know of a kernel whose tensors are bound to these values of the graph.
lower::LowerOptions lowering_of(const ir::Kernel& kernel,
                                const std::map<std::string, std::int64_t>& extents,
                                const std::vector<graph::Binding>& params,
                                const std::vector<graph::Binding>& results);

// The number of elements of a tensor of the kernel with these dimensions.
double elements(const WrittenKernel& written, const std::vector<ir::DimId>& dims);

// One of the kernels that a text is cut into.
struct StageCost {
    std::string outputs;  // names of the tensors it writes
    lower::StageKind kind{};
    sol::Work work;
    double hard_us = 0, bound_us = 0;         // hard and calibrated bound
    double arithmetic_us = 0, memory_us = 0;  // calibrated, each without the other
    std::string kernel;                       // the common prefix of its launches' entry names
};

// The costs of the kernels that run in every call; kernels that depend only on constants run once,
// beforehand, and are left out. Intermediate tensors count as written and read. An Error says what
// no kernel can compute.
Result<std::vector<StageCost>> stage_costs(const WrittenKernel& written, const Options& options,
                                           const GpuSpec& gpu);

// The sum of the calibrated bounds of these kernels.
Result<double> staged_us(const WrittenKernel& written, const Options& options, const GpuSpec& gpu);

}  // namespace fact::match
