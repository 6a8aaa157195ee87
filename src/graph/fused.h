// A fused call: the part of a graph that one kernel replaces, kept with the kernel so that the
// original can be run for comparison (the oracle) or instead of it (if the kernel cannot run).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/halves.h"
#include "support/result.h"

namespace fact::graph {

// Kernel dimension i is the graph tensor's dimensions dims[i], merged in that order. Graph
// dimensions of extent one, and broadcast ones (stride zero), may be missing. Several values bound
// to one parameter are its parts along the first dimension, those bound to one output its parts
// along the last: several linears of one input are one product with their concatenated weights.
struct Binding {
    std::string tensor;  // parameter or output of the kernel
    std::string value;   // name of the graph value
    std::vector<std::vector<int>> dims;
    bool constant = false;          // a weight: the same tensor on every call
    int alignment = 16;             // in bytes: see alignment() below
    std::optional<Half> half = {};  // the kernel sees only this half of the tensor
    bool operator==(const Binding&) const = default;
};

// The most bytes, at most 16, that divide the start of a tensor (given in elements) and all of
// these strides except strides of one element.
int alignment(std::int64_t start, const std::vector<std::int64_t>& strides, DType dtype);

struct FusedCall {
    std::string id;      // "p03_linear_gelu", unique in the graph
    std::string kernel;  // name of the realized kernel; calls of the same family share one
    std::vector<Binding> params, results;
    Graph original;  // its user inputs are the call's inputs, in order
    // Nodes of the original that compute constants which other calls use too: a module runs them
    // only once.
    std::vector<std::string> copied = {};
};

// The outputs of the original that are parts of one output of the kernel, in their order, and their
// layout in its memory: several are side by side, a single one is as it was traced. An output that
// is not bound is a group of its own.
struct OutputGroup {
    std::vector<std::size_t> outputs;  // positions in original.outputs
    std::vector<TensorType> types;     // of those outputs that are tensors
    std::int64_t length = 0;           // elements of memory that all of them take
};
std::vector<OutputGroup> group_outputs(const FusedCall& call);

// In a rewritten graph a fused call is a node with this target, the tensors it reads as the list
// argument "inputs" and the call's id as the string argument "call".
inline constexpr std::string_view kFusedTarget = "fact.call";

// The same call with numbers for names, and without what differs between two exports of it: where
// its operators come from, versions, its id and kernel.
FusedCall without_names(FusedCall call);

std::string to_json(const FusedCall& call);
Result<FusedCall> fused_call_from_json(std::string_view text);

}  // namespace fact::graph
