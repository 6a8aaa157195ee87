// The numbers that values of a call are compared with or clamped to.
#pragma once

#include "graph/graph.h"
#include "ir/kernel.h"

namespace fact::verify {

// The largest magnitude of such a number; 0 if there is none. Numbers that stand for infinity do
// not count.
double largest_threshold(const graph::Graph& graph);
double largest_threshold(const ir::Kernel& text);

}  // namespace fact::verify
