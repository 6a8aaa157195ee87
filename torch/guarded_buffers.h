// Tensors inside larger allocations whose margins hold a known pattern: a kernel that writes
// outside its buffers leaves a trace, and one that reads there computes with NaN.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace fact::exec {

class GuardedTensor {
  public:
    // Holds the rows right after a matrix, where a tile that exceeds the matrix would write.
    static constexpr std::int64_t kMarginBytes = 1 << 20, kMarginBytesOnCpu = 1 << 16;
    static constexpr std::int64_t kAlignment = 1024;  // TMA's swizzled boxes need no more
    // The bytes of margins and gaps: NaN in every floating type.
    static constexpr std::uint8_t kCanary = 0xFF;

    GuardedTensor(at::IntArrayRef sizes, at::IntArrayRef strides, c10::ScalarType dtype,
                  c10::Device device);
    // Tensors of one element type that together fill `length` elements; the gaps between one
    // tensor's elements belong to another.
    static std::vector<GuardedTensor> sharing(const std::vector<graph::TensorType>& types,
                                              std::int64_t length, c10::Device device);
    // A copy with the same sizes, strides and values, including gaps between elements, at an
    // address with the alignment of the tensor's offset in its storage.
    static GuardedTensor copy_of(const at::Tensor& tensor);

    const at::Tensor& tensor() const { return tensor_; }

    // Takes the values of a tensor with the same sizes and strides, in place.
    void load(const at::Tensor& tensor);
    // Sets every byte of every element; gaps keep the canary.
    void fill(std::uint8_t byte);
    // The elements as integers of the same width: what is compared bit by bit.
    const at::Tensor& bits() const { return bits_; }

    // The integer whose `width` bytes are all `byte`, as an element of bits().
    static std::int64_t repeated(std::uint8_t byte, std::int64_t width);

    // Each is a boolean tensor without dimensions, left on the device: see read_flags.
    at::Tensor touched_outside() const;                       // a margin, or a gap between elements
    at::Tensor differs_from(const at::Tensor& tensor) const;  // from the tensor that was loaded

  private:
    // In this memory, `shift` bytes after an aligned address.
    GuardedTensor(at::Tensor bytes, at::IntArrayRef sizes, at::IntArrayRef strides,
                  c10::ScalarType dtype, std::int64_t shift);

    at::Tensor bytes_;                     // the whole allocation
    std::int64_t first_ = 0, length_ = 0;  // the tensor's storage in bytes_
    at::Tensor tensor_, bits_, flat_;      // flat_: the storage as integers
    at::Tensor gaps_;                      // where flat_ holds no element; undefined without gaps
};

// Integers as wide as the element type.
c10::ScalarType bits_type(c10::ScalarType dtype);

// Reads boolean tensors without dimensions in one go; empty tensors count as false.
std::vector<bool> read_flags(const std::vector<at::Tensor>& flags);

}  // namespace fact::exec
