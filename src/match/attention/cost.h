// What attention costs as one kernel, and as separate operators.
#pragma once

#include "match/attention/call.h"
#include "match/patterns/pattern.h"
#include "match/text/write_kernel.h"
#include "target/gpu_spec.h"

namespace fact::match {

Cost cost_of(const graph::Graph& graph, const std::vector<graph::NodeId>& nodes,
             const AttentionCall& call, const WrittenKernel& written, const Options& options,
             const GpuSpec& gpu);

}  // namespace fact::match
