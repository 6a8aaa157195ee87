// The same fused call with smaller extents, so that the interpreter takes seconds on a CPU.
#pragma once

#include <optional>
#include <string>

#include "graph/fused.h"
#include "ir/kernel.h"

namespace fact::verify {

struct Shrunk {
    graph::FusedCall call;
    std::string note;  // "128 -> 2, 3072 -> 96", for the report
};

// Finds which dimensions always have proportional extents, and halves the largest such class until
// the products take at most `max_products` multiplications. Extents that the kernel text fixes, and
// dimensions touched by an operator whose effect on extents is not known, keep their size. nullopt
// if the call is small enough or cannot be shrunk.
//
// Both original and kernel run on the result, so that a wrong guess ends in an error of torch or of
// the interpreter.
std::optional<Shrunk> shrink(const graph::FusedCall& call, const ir::Kernel& kernel,
                             double max_products);

// The multiplications of the graph's products, plus the cost of the other operators' elements in
// the same unit.
double work(const graph::Graph& graph);

}  // namespace fact::verify
