// Speed of light: the least time a piece of work can take on a GPU.
#pragma once

#include "target/dtype.h"
#include "target/gpu_spec.h"

namespace fact::sol {

// What the arithmetic of a product runs on.
enum class Unit {
    tensor_16bit,    // bf16 and f16 operands
    tensor_tf32,     // one TF32 product, as torch does it
    tensor_rounded,  // the same precision as our kernels compute it: in f16 on sm90
    tensor_split,    // f32 operands in two parts: three products
    cuda_core_fp32,  // f32 multiply-adds without tensor cores, as torch does them by default
};

struct Work {
    double flops = 0;  // of the mathematics: a split product's three are counted here once
    double bytes = 0;  // read and written, each byte once
    Unit unit = Unit::tensor_16bit;
};

struct Bound {
    double hard_us = 0;        // datasheet: only a lie is faster
    double calibrated_us = 0;  // what a long product or copy reaches
};

// The larger of arithmetic and traffic. Traffic that fits into L2 is counted at L2's rate: it may
// still be there from the operator before. Of larger traffic the hard bound grants L2's size free.
Bound bound(const Work& work, const GpuSpec& gpu);

// The same for a kernel of its own, whose calibrated time is at least that of a launch. Work that
// is nothing takes no kernel.
Bound kernel_bound(const Work& work, const GpuSpec& gpu);

// How products of such operands are computed by our kernels, and by torch unless told otherwise.
Unit kernel_unit(DType operands, bool allow_tf32);
Unit torch_unit(DType operands, bool allow_tf32);

}  // namespace fact::sol
