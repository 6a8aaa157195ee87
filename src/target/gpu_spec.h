// GPUs as data: the peaks of the datasheet (hard) and what was measured (calibrated).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "target/dtype.h"

namespace fact {

struct GpuSpec {
    std::string_view name;  // "h200"
    std::string_view arch;  // "sm90a"
    int num_sms = 0;
    // Peak dense rates at the highest clock, in TFLOP/s, and memory rates in TB/s.
    double bf16_tflops = 0, tf32_tflops = 0, fp32_tflops = 0;
    // f32 products as our kernels compute them: with operands split into two parts, and with
    // operands rounded to TF32's bits.
    double split_tflops = 0, rounded_tflops = 0;
    double memory_tbs = 0, l2_tbs = 0;
    double l2_mib = 0;
    // The same rates as a long product or copy reaches them.
    double calibrated_bf16_tflops = 0, calibrated_tf32_tflops = 0, calibrated_fp32_tflops = 0,
           calibrated_split_tflops = 0, calibrated_rounded_tflops = 0, calibrated_memory_tbs = 0,
           calibrated_l2_tbs = 0;
    double launch_us = 0;  // from one empty kernel to the next in a full queue
};

const std::vector<GpuSpec>& gpu_table();
std::optional<GpuSpec> find_gpu(std::string_view name);
// The row for the driver's name of a device: "NVIDIA H100 80GB HBM3" is "h100-sxm".
std::optional<GpuSpec> gpu_of_device(std::string_view device);
// The table's typical GPU of an architecture: "sm90a" gives the H200.
std::optional<GpuSpec> default_gpu(std::string_view arch);

}  // namespace fact
