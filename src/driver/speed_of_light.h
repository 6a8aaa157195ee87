// `fact sol`: the bounds of an archive, of a run, or of a module that is traced first.
#pragma once

#include <string>

#include "driver/run_folder.h"
#include "report/speed_of_light.h"
#include "support/result.h"

namespace fact::driver {

struct SolRequest {
    Settings settings;  // its source may also be an archive or a run folder
    std::string gpu;    // of the table; "" for this machine's
};

// Leaves no files behind: a module is traced into a temporary folder.
Result<report::SpeedOfLight> speed_of_light(const SolRequest& request);

// The table of GPUs, with the calibrations of this machine.
Result<std::string> gpu_table_text();

}  // namespace fact::driver
