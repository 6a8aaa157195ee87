// Buffers whose values are built into kernels, such as a mask that was proved causal: they may not
// change.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "graph/fused.h"
#include "torch/seen_tensor.h"

namespace fact::exec {

// Which inputs of a graph are built in: buffers and constants that a fused call gets for its
// original operators, and that its kernel does not read. Indices into graph.inputs.
std::vector<std::size_t> built_in_inputs(
    const graph::Graph& graph, const std::map<std::string, const graph::FusedCall*>& calls);

class BuiltInBuffer {
  public:
    // `values`: those that the kernels were made for, on the CPU.
    BuiltInBuffer(std::string name, at::Tensor values)
        : name_(std::move(name)), values_(std::move(values)) {}

    // Throws if the tensor differs from the values in any bit (all NaN are equal); the values are
    // first rounded to the tensor's element type. Compares only if torch has counted a change since
    // the last time, or every time if torch does not count (inference tensors). While a CUDA graph
    // is captured nothing can be compared: earlier calls have done it.
    void check(const at::Tensor& tensor);
    // The next check compares, even if torch has counted no change.
    void refresh();

  private:
    bool holds_values(const at::Tensor& tensor);
    at::Tensor values_as(const at::Tensor& tensor);

    std::string name_;
    at::Tensor values_;
    std::mutex mutex_;
    std::vector<SeenTensor> seen_;  // one per copy of the module, which may be on several devices
    at::Tensor device_values_;  // on an inference tensor's device, since it is compared every time
};

}  // namespace fact::exec
