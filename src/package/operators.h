// Which of torch's operators a package may call.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "support/result.h"

namespace fact::package {

// The namespaces of a graph's operators, in order, each once; fused calls have none.
std::vector<std::string> namespaces(const graph::Graph& graph);

// Torch's own operators on tensors (aten, prims) are open to every package, but for those that
// reach outside of them, such as aten.from_file. What a library adds to torch is code of its own: a
// package may call it where its manifest declares the namespace and the caller allows it.
Result<> check_operators(const graph::Graph& graph, const std::vector<std::string>& declared,
                         const std::vector<std::string>& allowed);

}  // namespace fact::package
