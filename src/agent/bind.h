// What a kernel text's tensors are in the graph.
#pragma once

#include "agent/interface.h"
#include "ir/kernel.h"
#include "match/text/write_kernel.h"

namespace fact::agent {

// The text's parameters and outputs are the interface's, by name, in any order. Its dimensions may
// be called otherwise, several may be one (rows of all batches) where memory allows, and one may be
// a product; extents follow from the tensors. An Error says what does not fit and what would.
Result<match::Written> bind(const ir::Kernel& kernel, const graph::Graph& graph,
                            const Interface& interface);

}  // namespace fact::agent
