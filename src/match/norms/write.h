// From the operators around a norm to the kernel that computes them.
#pragma once

#include "match/norms/region.h"
#include "match/text/write_kernel.h"
#include "support/result.h"

namespace fact::match {

// An Error says why the region around `norm` cannot be one kernel.
Result<WrittenKernel> write_norm(const graph::Graph& graph, const Facts& facts,
                                 const NormRegion& region, graph::NodeId norm);

}  // namespace fact::match
