#include "sol/bound.h"

#include <algorithm>

namespace fact::sol {
namespace {

struct Rates {
    double tflops, memory_tbs;
};

double microseconds(const Work& work, const GpuSpec& gpu, Rates rates) {
    const double terabytes = work.bytes * 1e-12;
    const bool in_l2 = work.bytes <= gpu.l2_mib * 1024 * 1024;
    const double traffic = terabytes / (in_l2 ? gpu.l2_tbs : rates.memory_tbs);
    const double products = work.unit == Unit::tensor_tf32x3 ? 3 : 1;
    const double arithmetic = work.flops * 1e-12 * products / rates.tflops;
    return 1e6 * std::max(traffic, arithmetic);
}

Rates hard(const GpuSpec& gpu, Unit unit) {
    switch (unit) {
        case Unit::tensor_16bit:
            return {gpu.bf16_tflops, gpu.memory_tbs};
        case Unit::tensor_tf32:
        case Unit::tensor_tf32x3:
            return {gpu.tf32_tflops, gpu.memory_tbs};
        case Unit::cuda_core_fp32:
            break;
    }
    return {gpu.fp32_tflops, gpu.memory_tbs};
}

Rates calibrated(const GpuSpec& gpu, Unit unit) {
    switch (unit) {
        case Unit::tensor_16bit:
            return {gpu.calibrated_bf16_tflops, gpu.calibrated_memory_tbs};
        case Unit::tensor_tf32:
        case Unit::tensor_tf32x3:
            return {gpu.calibrated_tf32_tflops, gpu.calibrated_memory_tbs};
        case Unit::cuda_core_fp32:
            break;
    }
    return {gpu.calibrated_fp32_tflops, gpu.calibrated_memory_tbs};
}

}  // namespace

Bound bound(const Work& work, const GpuSpec& gpu) {
    return {microseconds(work, gpu, hard(gpu, work.unit)),
            microseconds(work, gpu, calibrated(gpu, work.unit))};
}

Unit kernel_unit(DType operands, bool allow_tf32) {
    if (operands != DType::f32) return Unit::tensor_16bit;
    return allow_tf32 ? Unit::tensor_tf32 : Unit::tensor_tf32x3;
}

Unit torch_unit(DType operands, bool allow_tf32) {
    if (operands != DType::f32) return Unit::tensor_16bit;
    return allow_tf32 ? Unit::tensor_tf32 : Unit::cuda_core_fp32;
}

}  // namespace fact::sol
