// Which GPU bounds are for, and whether its ceilings were measured here or stand in the table.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "driver/environment.h"
#include "match/patterns/pattern.h"
#include "support/result.h"
#include "target/calibration.h"

namespace fact::driver {

// Where `fact calibrate` leaves what it measured on such a GPU.
std::filesystem::path calibration_file(const Environment& environment, std::string_view gpu);

struct Ceilings {
    GpuSpec gpu;
    std::string source;  // "calibrated 2026-03-01 on NVIDIA H200", "the table's, scaled from ..."
};

// Of a GPU of the table, whose name "" is this machine's or else the arch's typical one; what was
// calibrated comes before the table. An unknown name is an Error that lists the names. A broken
// calibration is passed over, and `source` says so.
Result<Ceilings> find_ceilings(const Environment& environment, const std::string& gpu,
                               const std::string& arch);

// Discovery with these ceilings.
match::Options match_options(const Ceilings& ceilings, const std::string& arch, Tf32 tf32);

// The GPU called so in the table; an Error lists the names.
Result<GpuSpec> known_gpu(std::string_view name);

}  // namespace fact::driver
