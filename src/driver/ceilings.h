// The GPU that bounds are computed for, and whether its ceilings (the rates that it can reach) were
// measured on this machine or come from the table of GPUs.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "driver/environment.h"
#include "match/patterns/pattern.h"
#include "support/result.h"
#include "target/calibration.h"

namespace fact::driver {

// Where `fact calibrate` stores its measurements of this kind of GPU.
std::filesystem::path calibration_file(const Environment& environment, std::string_view gpu);

struct Ceilings {
    GpuSpec gpu;
    std::string source;  // "calibrated 2026-03-01 on NVIDIA H200", "from the table, ..."
};

// The ceilings of a GPU of the table; `gpu` "" is this machine's, or else the arch's typical one. A
// calibration takes precedence over the table. An unknown name is an Error that lists the names. An
// unusable calibration is ignored, and `source` says so.
Result<Ceilings> find_ceilings(const Environment& environment, const std::string& gpu,
                               const std::string& arch);

// Options for a discovery with these ceilings.
match::Options match_options(const Ceilings& ceilings, const std::string& arch, Tf32 tf32);

// The GPU with this name in the table; the Error for an unknown one lists the names.
Result<GpuSpec> known_gpu(std::string_view name);

}  // namespace fact::driver
