// The tensors of a kernel for a set of operators: names, dimensions in memory order, and an empty
// kernel to fill in.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent/node_set.h"
#include "graph/fused.h"

namespace fact::agent {

struct Tensor {
    std::string name;  // of the kernel's parameter or output
    graph::ValueId value{};
    // The value's dimensions in memory order, outermost first, without those of extent one and
    // broadcast ones; and the kernel's name for each.
    std::vector<int> dims;
    std::vector<std::string> dim_names;
    bool constant = false;   // a weight: the same in every call
    bool contiguous = true;  // whether the innermost dimension has stride 1
};

struct Interface {
    std::vector<Tensor> params, results;
    std::map<std::string, std::int64_t> extents;
};

// Dimensions that can only change together have the same name.
Interface interface_of(const graph::Graph& graph, const NodeSet& set);

// The same tensors under the names that a kernel has for them. An Error if the kernel reads only a
// part of one, or several as one.
Result<Interface> with_kernel_names(Interface interface, const graph::Graph& graph,
                                    const std::vector<graph::Binding>& params,
                                    const std::vector<graph::Binding>& results);

// "kernel NAME(x: bf16[M, K]) -> (y: bf16[M, N]) { ... }", the body left to be written.
std::string empty_kernel(const std::string& name, const graph::Graph& graph,
                         const Interface& interface);

}  // namespace fact::agent
