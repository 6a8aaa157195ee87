// Tensors inside larger allocations whose margins hold a known pattern: a kernel that writes beside
// its buffers leaves a trace, and one that reads there computes with NaN.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace fact::exec {

class GuardedTensor {
  public:
    // A tile that sticks out of a matrix begins to do so in the rows right after it.
    static constexpr std::int64_t kMarginBytes = 1 << 20, kMarginBytesOnCpu = 1 << 16;
    static constexpr std::int64_t kAlignment = 1024;  // TMA's swizzled boxes ask for no more
    // As bytes of margins and gaps: NaN in every floating type.
    static constexpr std::uint8_t kCanary = 0xFF;

    GuardedTensor(at::IntArrayRef sizes, at::IntArrayRef strides, c10::ScalarType dtype,
                  c10::Device device);
    // Tensors of one element type that share `length` elements and fill them; what lies between one
    // tensor's elements is another's.
    static std::vector<GuardedTensor> sharing(const std::vector<graph::TensorType>& types,
                                              std::int64_t length, c10::Device device);
    // The same sizes, strides and values, gaps between elements included, at an address that is
    // aligned as the other's offset in its storage.
    static GuardedTensor copy_of(const at::Tensor& tensor);

    const at::Tensor& tensor() const { return tensor_; }

    // Takes the values of a tensor with the same sizes and strides, in place.
    void load(const at::Tensor& tensor);
    // Every byte of every element; gaps keep the canary.
    void fill(std::uint8_t byte);
    // The elements as integers of the same width: what is compared bit by bit.
    const at::Tensor& bits() const { return bits_; }

    // The integer of `width` bytes that are all `byte`, as bits() gives it.
    static std::int64_t repeated(std::uint8_t byte, std::int64_t width);

    // Each a boolean tensor without dimensions, left on the device so that many are read at once:
    at::Tensor touched_outside() const;                       // a margin, or a gap between elements
    at::Tensor differs_from(const at::Tensor& tensor) const;  // from what load() took

  private:
    // In this memory, `shift` bytes behind a place that is aligned.
    GuardedTensor(at::Tensor bytes, at::IntArrayRef sizes, at::IntArrayRef strides,
                  c10::ScalarType dtype, std::int64_t shift);

    at::Tensor bytes_;                     // the whole allocation
    std::int64_t first_ = 0, length_ = 0;  // of the tensor's storage in it, in bytes
    at::Tensor tensor_, bits_, flat_;      // flat_: the storage as integers
    at::Tensor gaps_;                      // where flat_ holds no element; undefined without gaps
};

// Integers as wide as the element type.
c10::ScalarType bits_type(c10::ScalarType dtype);

// Reads boolean tensors without dimensions in one go; empty tensors count as false.
std::vector<bool> read_flags(const std::vector<at::Tensor>& flags);

}  // namespace fact::exec
