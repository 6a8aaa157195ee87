// What a region costs fused, and as the operators it is made of.
#pragma once

#include "lower/pipeline/cut.h"
#include "match/axes/layout.h"
#include "match/patterns/pattern.h"
#include "match/regions/region.h"
#include "match/text/write_kernel.h"
#include "sol/bound.h"
#include "target/gpu_spec.h"

namespace fact::match {

// Whether an fp32 product is computed in TF32: torch has one setting for products and another for
// convolutions, those of single points among them.
inline bool rounded(const Region& region, const Options& options) {
    return options.tf32.in(region.anchor.form == graph::ProductForm::convolution);
}

Cost cost_of(const graph::Graph& graph, const Region& region, const Layout& layout,
             const Options& options, const GpuSpec& gpu);

// The same without a product: one pass over the pattern's inputs and outputs.
Cost cost_of(const graph::Graph& graph, const std::vector<graph::NodeId>& nodes,
             const Pattern& pattern, const Options& options, const GpuSpec& gpu);

// Adds what the operators take one by one; returns their flops.
double add_operators(const graph::Graph& graph, const std::vector<graph::NodeId>& nodes,
                     const Options& options, const GpuSpec& gpu, Cost& cost);

// Elements of a tensor of the kernel.
double elements(const Written& written, const std::vector<ir::DimId>& dims);

// A kernel of those that the compiler cuts a text into.
struct StageCost {
    std::string outputs;  // names of what it writes
    lower::StageKind kind{};
    sol::Work work;
    double hard_us = 0, bound_us = 0;         // datasheet, calibrated
    double arithmetic_us = 0, memory_us = 0;  // what sets it, where a launch takes less
    std::string kernel;                       // its name: the entries of its launches begin so
};

// Those that run in every call: values kept in memory between them are written and read. What
// follows from constants alone is computed before. An Error says what no kernel can compute.
Result<std::vector<StageCost>> stage_costs(const Written& written, const Options& options,
                                           const GpuSpec& gpu);

// What all of them take, one after the other.
Result<double> staged_us(const Written& written, const Options& options, const GpuSpec& gpu);

}  // namespace fact::match
