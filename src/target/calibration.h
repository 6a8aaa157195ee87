// The ceilings that `fact calibrate` measured on a GPU, and how they enter the GPU's row.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"
#include "target/gpu_spec.h"

namespace fact {

struct Ceiling {
    std::string name;          // "memory_copy", "bf16"; with_ceilings names them all
    std::string unit;          // "TB/s", "TFLOP/s" or "us"
    double value = 0;          // the median, one launch at a time
    double low = 0, high = 0;  // 10th and 90th percentile
    int runs = 0;
    double sustained = 0;  // back to back on a hot GPU; 0: not measured
    int sustained_runs = 0;
    std::string how;  // "8192x8192x8192, tile 128x256x64 ..."
    bool operator==(const Ceiling&) const = default;
};

struct Calibration {
    std::string gpu;     // its name in target/gpu_spec.h, "h200"
    std::string device;  // its name in the driver, "NVIDIA H200"
    std::string date;    // "2026-03-01T12:00:00Z"
    std::string driver, toolchain;
    bool quick = false;  // fewer runs, one schedule per product, no sustained times
    std::vector<Ceiling> ceilings;
    bool operator==(const Calibration&) const = default;
};

// The measured value of that name; 0 if there is none.
double ceiling(const Calibration& calibration, std::string_view name);

std::string to_json(const Calibration& calibration);
Result<Calibration> calibration_from_json(std::string_view text);

// The GPU's row with measured ceilings:
//   memory: the best of memory_read, memory_write and memory_copy; L2: l2_read
//   tensor cores: in 16 bits the better of bf16 and f16, in torch's TF32 half of bf16, in our TF32
//   kernels tf32, in split f32 products f32_split; fp32 without tensor cores: fp32
//   time of a launch: launch
// An Error names what is missing, or is above the peak of the data sheet and so was measured wrong.
Result<GpuSpec> with_ceilings(GpuSpec spec, const Calibration& calibration);

}  // namespace fact
