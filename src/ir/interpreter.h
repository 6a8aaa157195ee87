// Runs a kernel on the CPU in f64: the executable meaning of a kernel text.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/kernel.h"
#include "support/result.h"

namespace fact::ir {

// Dimensions as in the kernel text, memory order; strides in elements.
struct TensorView {
    void* data = nullptr;
    DType dtype = DType::f32;
    std::vector<std::int64_t> sizes, strides;
};

struct InterpretOptions {
    bool round_casts = true;  // false: Cast to a floating type keeps f64 (for an f64 oracle)
    int threads = 0;          // 0: one per core
};

// Reads `params`, writes `outputs`, rounding to each output's own dtype (an f64 output keeps all).
// Refuses tensors whose rank, dtype or extents do not fit; a floating tensor may be f64 instead.
Result<> interpret(const Kernel& kernel, std::span<const TensorView> params,
                   std::span<const TensorView> outputs, const InterpretOptions& options = {});

}  // namespace fact::ir
