// The arguments of a CUDA file with "fact-arguments: plain": every tensor of the kernel text as a
// pointer with its sizes and strides, parameters first, then outputs, then uninitialised scratch
// memory in f32, with the first output's sizes. Thread blocks have 256 threads, and there are at
// most as many as fit on the GPU at a time.
#pragma once

#include <cstdint>

#include "numbers.cuh"

namespace fact {

struct PlainTensor {
    static constexpr int kMaxDims = 4;
    void* data;
    int64_t strides[kMaxDims];  // in elements
    int sizes[kMaxDims];        // 1 after the last dimension
};

// FACT_TENSORS, FACT_ENTRY and FACT_TYPE_0, FACT_TYPE_1, ... are defined before the file.
template <int kTensors>
struct PlainArguments {
    PlainTensor tensors[kTensors];
};

}  // namespace fact
