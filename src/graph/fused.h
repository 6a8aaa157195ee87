// A fused call: the part of a graph that one kernel replaces, kept with the kernel so that the
// original can be run beside it (the oracle) or instead of it (where the kernel does not apply).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/halves.h"
#include "support/result.h"

namespace fact::graph {

// Kernel dimension i is the graph tensor's dimensions dims[i], merged in that order. Graph
// dimensions of extent one, and broadcast ones (stride zero), may be missing. Values bound to one
// parameter are its parts along the first dimension, those bound to one output its parts along the
// last: linears of one input are one product by their weights behind one another.
struct Binding {
    std::string tensor;  // parameter or output of the kernel
    std::string value;   // name of the graph value
    std::vector<std::vector<int>> dims;
    bool constant = false;          // a weight: the same tensor on every call
    int alignment = 16;             // bytes that divide its start and every stride, at most 16
    std::optional<Half> half = {};  // it is all the kernel sees of the tensor
    bool operator==(const Binding&) const = default;
};

// Bytes, at most 16, that divide the start of a tensor (in elements) and all of these strides but
// those of one element.
int alignment(std::int64_t start, const std::vector<std::int64_t>& strides, DType dtype);

struct FusedCall {
    std::string id;      // "p03_linear_gelu", unique in the graph
    std::string kernel;  // name of the realized kernel; calls of the same family share one
    std::vector<Binding> params, results;
    Graph original;  // its user inputs are the call's inputs, in order
    // Nodes of the original that make constants for others too: a module runs them once for all.
    std::vector<std::string> copied = {};
};

// Outputs of the original that one output of the kernel holds, in its order, and how they lie in
// its memory: side by side, or alone as they were traced. One that is not bound stands alone.
struct Together {
    std::vector<std::size_t> outputs;
    std::vector<TensorType> types;
    std::int64_t length = 0;  // elements of all
};
std::vector<Together> outputs_together(const FusedCall& call);

// In a rewritten graph a fused call is a node with this target, the tensors it reads as the list
// argument "inputs" and the call's id as the string argument "call".
inline constexpr std::string_view kFusedTarget = "fact.call";

std::string to_json(const FusedCall& call);
Result<FusedCall> fused_call_from_json(std::string_view text);

}  // namespace fact::graph
