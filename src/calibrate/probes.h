// The small CUDA kernels of kernels/calibrate: how each is launched and what a launch does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/kernel.h"
#include "target/launch_record.h"

namespace fact::calibrate {

// All take (from, to, count) of their own struct but the fills, which take (to, count).
struct Probe {
    std::string file;   // in kernels/calibrate, "streams.cu"
    std::string entry;  // "copy_stream"
    LaunchRecord record;
};

enum class ProbeKind { read, write, copy, l2, multiply_add, nothing, hold, fill };

// `dtype` is that of a fill.
Probe probe(ProbeKind kind, std::string_view arch, DType dtype = DType::f32);

// Its tensors, for this many f32 (elements of `dtype` for a fill): sizes and no data.
std::vector<gpu::TensorArg> arguments(ProbeKind kind, std::int64_t elements,
                                      DType dtype = DType::f32);

// What a launch over so many f32 moves or computes; kept beside the kernels' constants.
double bytes_of(ProbeKind kind, std::int64_t elements);
double flops_of(ProbeKind kind, std::int64_t elements);

}  // namespace fact::calibrate
