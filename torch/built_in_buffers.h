// Buffers whose values kernels have built in, such as a mask that was proved causal: they may not
// hold anything else.
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

// Which inputs of a graph are such: buffers and constants that a fused call is given, for the
// original operators, and that its kernel does not read. Indices into graph.inputs.
std::vector<std::size_t> built_in_inputs(
    const graph::Graph& graph, const std::map<std::string, const graph::FusedCall*>& calls);

class BuiltInBuffer {
  public:
    // `values`: those the kernels were made for, on the CPU.
    BuiltInBuffer(std::string name, at::Tensor values)
        : name_(std::move(name)), values_(std::move(values)) {}

    // Throws where the tensor holds something else, bit for bit (any NaN is as good as another);
    // in another element type the values are those rounded to it. Compares where it has not seen
    // the tensor since torch counted a change; where torch does not count (inference tensors) every
    // time. While a CUDA graph is captured nothing can be compared: the calls before have done it.
    void check(const at::Tensor& tensor);
    // The next check compares, whatever torch has counted.
    void refresh();

  private:
    bool holds_values(const at::Tensor& tensor);
    at::Tensor values_as(const at::Tensor& tensor);

    std::string name_;
    at::Tensor values_;
    std::mutex mutex_;
    std::vector<SeenTensor> seen_;  // by copies of the module on several devices
    at::Tensor beside_;  // the values where an inference tensor was, which is compared often
};

}  // namespace fact::exec
