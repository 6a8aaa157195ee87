// From a region to a pattern: the kernel's text, what binds to it, and what it costs.
#pragma once

#include "ir/kernel.h"
#include "match/pattern.h"
#include "match/region.h"
#include "support/result.h"
#include "target/gpu_spec.h"

namespace fact::match {

// A region as a kernel. An Error says what keeps it from being one.
struct Written {
    ir::Kernel kernel;
    Layout layout;
    std::vector<graph::Binding> params, results;
};
Result<Written> write_kernel(const graph::Graph& graph, const Facts& facts, const Region& region,
                             bool allow_tf32);

// The whole pattern, its id still empty.
Result<Pattern> write_pattern(const graph::Graph& graph, const Facts& facts, const Region& region,
                              const Options& options, const GpuSpec& gpu);

}  // namespace fact::match
