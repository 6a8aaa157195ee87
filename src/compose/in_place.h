// Kernels write their results straight into the cats that join them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "target/gpu_spec.h"

namespace fact::compose {

// How values lie in memory, where that is not as they were traced.
using Layouts = std::map<graph::ValueId, graph::TensorType>;
// Why a fused call's kernel cannot be launched with these layouts of its inputs and results; "" if
// it can.
using Refusal = std::function<std::string(const graph::Graph&, const graph::Node&, const Layouts&)>;

// What became of a cat or stack.
struct WrittenCat {
    std::string node;
    int parts = 0;       // as the rewritten graph has them
    int by_kernels = 0;  // of them: those that kernels write where they belong
    int cats = 0;        // and those that are cats in this one's memory, told of by themselves
    std::string why;     // the first part that is copied, and why it is; "" if none is
};

// Decides for every cat and stack of a rewritten graph which of its parts are written in place (see
// graph/cats.h), and returns what it found. A cat that begins with all parts of an earlier one, as
// those of dense networks do, has that one as its part, so that both lie in one memory. Nothing is
// in place that would make the module take more memory at a time (compose/peak_memory.h), or, on
// this GPU, more time for copies.
std::vector<WrittenCat> write_in_place(graph::Graph& graph, const Refusal& refusal,
                                       const GpuSpec& gpu);

}  // namespace fact::compose
