// The same fused call over smaller extents, so that the interpreter takes seconds on a CPU.
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

// Finds which dimensions of which values always have extents in proportion, and halves the largest
// such class until the products take at most `max_products` multiplications. Extents the kernel
// text fixes, and dimensions touched by an operator whose meaning for extents is not known, keep
// their size. Nothing when the call is small enough or cannot be shrunk.
//
// The result is a call like any other: original and kernel both run on it, so that a wrong guess
// ends in an error of torch or of the interpreter.
std::optional<Shrunk> shrink(const graph::FusedCall& call, const ir::Kernel& kernel,
                             double max_products);

// Multiplications of the graph's products, and as much for the elements of everything else as they
// cost beside them.
double work(const graph::Graph& graph);

}  // namespace fact::verify
