// Which of torch's operators a package may call.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "support/result.h"

namespace fact::package {

// The namespaces of a graph's operators, sorted, without repetition; fused calls have none.
std::vector<std::string> namespaces(const graph::Graph& graph);

// Those of the namespaces that a caller has to allow: all but torch's own.
std::vector<std::string> to_be_allowed(const std::vector<std::string>& declared);

// Every package may call torch's own operators on tensors (aten, prims), except those that access
// anything else, such as aten.from_file. Operators that a library adds to torch are code of that
// library: a package may call them if its manifest declares the namespace (`declared`) and the
// caller allows it (`allowed`).
Result<> check_operators(const graph::Graph& graph, const std::vector<std::string>& declared,
                         const std::vector<std::string>& allowed);

}  // namespace fact::package
