// Speed of light: the least time a piece of work can take on a GPU.
#pragma once

#include "target/dtype.h"
#include "target/gpu_spec.h"

namespace fact::sol {

// The hardware that computes a product, and how.
enum class Unit {
    tensor_16bit,    // bf16 and f16 operands
    tensor_tf32,     // one TF32 product, as torch computes it
    tensor_rounded,  // TF32 precision as our kernels compute it: in f16 on sm90
    tensor_split,    // f32 operands in two parts: three products
    cuda_core_fp32,  // f32 multiply-adds without tensor cores, as torch computes by default
};

struct Work {
    double flops = 0;  // of the mathematics: the three products of split operands count as one
    double bytes = 0;  // read and written, each byte once
    Unit unit = Unit::tensor_16bit;
};

struct Bound {
    double hard_us = 0;        // by the datasheet: a faster time is not believed
    double calibrated_us = 0;  // by what long products and copies reach on this GPU
};

// The larger of the times of arithmetic and traffic. Traffic that fits into L2 is counted at L2's
// rate: it may still be there from the previous operator. The hard bound counts all traffic at L2's
// rate, and at the memory's only what exceeds L2's size.
Bound bound(const Work& work, const GpuSpec& gpu);

// The same for a separate kernel, whose calibrated time is at least that of a launch. No work needs
// no kernel.
Bound kernel_bound(const Work& work, const GpuSpec& gpu);

// The unit on which our kernels, and torch, compute products of such operands.
Unit kernel_unit(DType operands, bool allow_tf32);
Unit torch_unit(DType operands, bool allow_tf32);

}  // namespace fact::sol
