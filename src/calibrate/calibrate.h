// Measures a GPU's real ceilings: memory, L2, tensor cores, fp32, launches.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "gpu/driver.h"
#include "jit/compiler.h"
#include "support/result.h"
#include "support/times.h"
#include "target/calibration.h"

namespace fact::calibrate {

struct Options {
    bool quick = false;  // fewer runs and schedules, no sustained rates
    jit::Toolchain toolchain;
    std::filesystem::path store;                     // of compiled kernels
    int jobs = 1;                                    // compiler processes at a time
    std::function<void(const std::string&)> status;  // progress, one short line
};

// Measures the current GPU, which `device` describes. An Error if a kernel could not be run, gave a
// wrong result, or was faster than the data sheet allows.
Result<Calibration> calibrate(const gpu::DeviceInfo& device, const Options& options);

// A rate in `unit` (TB/s or TFLOP/s): `work` (bytes or flops) divided by each of the times. `how`
// says how it was measured.
Ceiling rate(std::string name, std::string unit, double work, const Times& single,
             const Times& sustained, std::string how);
// The time of one of `count` launches that were timed together.
Ceiling time_of(std::string name, int count, const Times& single, std::string how);

}  // namespace fact::calibrate
