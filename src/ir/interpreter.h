// Runs a kernel on the CPU in f64: the executable meaning of a kernel text.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/kernel.h"
#include "support/result.h"

namespace fact::ir {

// Dimensions in the order of the kernel text; strides in elements.
struct TensorView {
    void* data = nullptr;
    DType dtype = DType::f32;
    std::vector<std::int64_t> sizes, strides;
};

struct InterpretOptions {
    bool round_casts = true;  // false: a Cast to a floating type does not round (for an f64 oracle)
    int threads = 0;          // 0: one per core
};

// Reads `params` and writes `outputs`, rounding to the dtype of each output's view (f64: no
// rounding). Refuses tensors whose rank, dtype or extents do not fit; any floating tensor may be
// passed as f64.
Result<> interpret(const Kernel& kernel, std::span<const TensorView> params,
                   std::span<const TensorView> outputs, const InterpretOptions& options = {});

}  // namespace fact::ir
