// Finds the graph's tensors that a kernel text's parameters and outputs stand for.
#pragma once

#include "agent/interface.h"
#include "ir/kernel.h"
#include "match/text/write_kernel.h"

namespace fact::agent {

// The text's parameters and outputs are those of the interface, by name, in any order. Dimensions
// may have other names, neighbouring ones may be merged (rows of all batches) if memory allows, and
// one may be factored (H*D); extents are inferred from the tensors. An Error says what does not fit
// and what would.
Result<match::WrittenKernel> bind_text(const ir::Kernel& kernel, const graph::Graph& graph,
                                       const Interface& interface);

}  // namespace fact::agent
