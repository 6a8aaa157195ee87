// A GPU on which bounds can be counted by hand.
#pragma once

#include "target/gpu_spec.h"

namespace fact::testing {

inline GpuSpec round_gpu() {
    GpuSpec gpu;
    gpu.name = "round";
    gpu.bf16_tflops = 1000;
    gpu.tf32_tflops = 500;
    gpu.fp32_tflops = 50;
    gpu.split_tflops = 300;
    gpu.rounded_tflops = 1000;
    gpu.memory_tbs = 5;
    gpu.l2_tbs = 10;
    gpu.l2_mib = 50;
    gpu.calibrated_bf16_tflops = 800;
    gpu.calibrated_tf32_tflops = 400;
    gpu.calibrated_fp32_tflops = 40;
    gpu.calibrated_split_tflops = 200;
    gpu.calibrated_rounded_tflops = 800;
    gpu.calibrated_memory_tbs = 4;
    gpu.calibrated_l2_tbs = 8;
    gpu.launch_us = 2;
    return gpu;
}

}  // namespace fact::testing
