// What a region costs fused, and as the operators it is made of.
#pragma once

#include "match/attention_call.h"
#include "match/layout.h"
#include "match/pattern.h"
#include "match/region.h"
#include "match/write_kernel.h"
#include "target/gpu_spec.h"

namespace fact::match {

// Whether an fp32 product is computed in TF32: torch has one setting for products and another for
// convolutions, those of single points among them.
inline bool rounded(const Region& region, const Options& options) {
    return options.tf32.in(region.anchor.rule == "conv");
}

Cost cost_of(const graph::Graph& graph, const Region& region, const Layout& layout,
             const Options& options, const GpuSpec& gpu);

// The same without a product: one pass over the pattern's inputs and outputs.
Cost cost_of(const graph::Graph& graph, const std::vector<graph::NodeId>& nodes,
             const Pattern& pattern, const Options& options, const GpuSpec& gpu);

// The same of attention in one kernel.
Cost cost_of(const graph::Graph& graph, const std::vector<graph::NodeId>& nodes,
             const AttentionCall& call, const Written& written, const Options& options,
             const GpuSpec& gpu);

// Elements of a tensor of the kernel.
double elements(const Written& written, const std::vector<ir::DimId>& dims);

// What the kernels take in a call that the compiler cuts the text into, each at its calibrated
// bound: values kept in memory between them are written and read. What follows from constants alone
// is computed before.
// An Error says what no kernel can compute.
Result<double> staged_us(const Written& written, const Options& options, const GpuSpec& gpu);

}  // namespace fact::match
