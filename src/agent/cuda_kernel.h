// Kernels that a language model writes in CUDA instead of the kernel language.
#pragma once

#include "agent/interface.h"
#include "support/result.h"

namespace fact::agent {

// The text (dsl/cuda_text.h) of such a kernel for these tensors. An Error says what the source must
// not contain, or which tensor cannot be passed to CUDA.
Result<std::string> cuda_kernel(const std::string& name, const graph::Graph& graph,
                                const Interface& interface, const std::string& source);

// "tensors[0]: x, f32, sizes [4096, 128], strides [128, 1], read": one line per tensor, in the
// order in which the kernel gets them.
std::vector<std::string> cuda_tensors(const graph::Graph& graph, const Interface& interface);

}  // namespace fact::agent
