// The small CUDA kernels of kernels/calibrate: how each is launched and what a launch does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/kernel.h"
#include "target/launch_record.h"

namespace fact::calibrate {

// All take a struct of (from, to, count), except the fills, which take (to, count).
struct Probe {
    std::string file;   // in kernels/calibrate, "streams.cu"
    std::string entry;  // "copy_stream"
    LaunchRecord record;
};

enum class ProbeKind { read, write, copy, l2, multiply_add, nothing, hold, fill };

// `dtype` is used by fills only.
Probe probe(ProbeKind kind, std::string_view arch, DType dtype = DType::f32);

// The probe's tensors for this many f32 elements (for a fill: of `dtype`), with sizes but no data.
std::vector<gpu::TensorArg> arguments(ProbeKind kind, std::int64_t elements,
                                      DType dtype = DType::f32);

// What a launch over this many f32 elements moves or computes.
double bytes_of(ProbeKind kind, std::int64_t elements);
double flops_of(ProbeKind kind, std::int64_t elements);

}  // namespace fact::calibrate
