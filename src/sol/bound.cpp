#include "sol/bound.h"

#include <algorithm>

#include "support/result.h"

namespace fact::sol {
namespace {

double hard_tflops(const GpuSpec& gpu, Unit unit) {
    switch (unit) {
        case Unit::tensor_16bit:
            return gpu.bf16_tflops;
        case Unit::tensor_split:
            return gpu.split_tflops;
        case Unit::tensor_tf32:
            return gpu.tf32_tflops;
        case Unit::tensor_rounded:
            return gpu.rounded_tflops;
        case Unit::cuda_core_fp32:
            return gpu.fp32_tflops;
    }
    throw InternalError("a unit without a peak");
}

double calibrated_tflops(const GpuSpec& gpu, Unit unit) {
    switch (unit) {
        case Unit::tensor_16bit:
            return gpu.calibrated_bf16_tflops;
        case Unit::tensor_split:
            return gpu.calibrated_split_tflops;
        case Unit::tensor_tf32:
            return gpu.calibrated_tf32_tflops;
        case Unit::tensor_rounded:
            return gpu.calibrated_rounded_tflops;
        case Unit::cuda_core_fp32:
            return gpu.calibrated_fp32_tflops;
    }
    throw InternalError("a unit without a ceiling");
}

// In units of 1e-12 seconds: bytes divided by TB/s, like flops divided by TFLOP/s.
struct TrafficTime {
    double hard, calibrated;
};

TrafficTime traffic_time(double bytes, const GpuSpec& gpu) {
    const double l2_bytes = gpu.l2_mib * 1024 * 1024;
    // All bytes pass through L2. As many as L2 holds may already be there, or stay there.
    const double beyond_l2 = std::max(0.0, bytes - l2_bytes);
    const double hard = std::max(bytes / gpu.l2_tbs, beyond_l2 / gpu.memory_tbs);
    // Traffic larger than L2 streams through it: data is evicted before it is read again.
    const double calibrated =
        bytes / (beyond_l2 == 0 ? gpu.calibrated_l2_tbs : gpu.calibrated_memory_tbs);
    return {hard, calibrated};
}

}  // namespace

Bound bound(const Work& work, const GpuSpec& gpu) {
    const TrafficTime moved = traffic_time(work.bytes, gpu);
    return {1e-6 * std::max(moved.hard, work.flops / hard_tflops(gpu, work.unit)),
            1e-6 * std::max(moved.calibrated, work.flops / calibrated_tflops(gpu, work.unit))};
}

Bound kernel_bound(const Work& work, const GpuSpec& gpu) {
    if (work.flops == 0 && work.bytes == 0) return {};
    Bound least = bound(work, gpu);
    least.calibrated_us = std::max(least.calibrated_us, gpu.launch_us);
    return least;
}

Unit kernel_unit(DType operands, bool allow_tf32) {
    if (operands == DType::f64) return Unit::cuda_core_fp32;  // f64 is never faster than f32
    if (operands != DType::f32) return Unit::tensor_16bit;
    return allow_tf32 ? Unit::tensor_rounded : Unit::tensor_split;
}

Unit torch_unit(DType operands, bool allow_tf32) {
    if (operands == DType::f32) return allow_tf32 ? Unit::tensor_tf32 : Unit::cuda_core_fp32;
    return kernel_unit(operands, allow_tf32);
}

}  // namespace fact::sol
