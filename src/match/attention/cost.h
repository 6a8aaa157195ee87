// What attention costs in one kernel, and as the operators it is made of.
#pragma once

#include "match/attention/call.h"
#include "match/patterns/pattern.h"
#include "match/text/write_kernel.h"
#include "target/gpu_spec.h"

namespace fact::match {

Cost cost_of(const graph::Graph& graph, const std::vector<graph::NodeId>& nodes,
             const AttentionCall& call, const Written& written, const Options& options,
             const GpuSpec& gpu);

}  // namespace fact::match
