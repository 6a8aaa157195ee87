// A run folder with its graph and its discovery loaded, on which the actions of `fact act` work.
#pragma once

#include <vector>

#include "driver/discover.h"
#include "driver/environment.h"
#include "driver/realize.h"
#include "driver/run_folder.h"
#include "sol/graph_bound.h"
#include "support/result.h"

namespace fact::driver {

struct LoadedRun {
    RunFolder run;
    Environment environment;
    match::Options options;
    Discovered found;
    std::vector<sol::NodeBound> bounds;  // of every operator
    // How kernels for texts are realized, without the user's CUDA files (`also`); set by the
    // caller.
    RealizeRequest realizing = {};
    std::filesystem::file_time_type discovery_written_at = {};  // discovery.json
};

// Whether the run's patterns have changed since it was loaded.
bool is_stale(const LoadedRun& loaded);

Result<LoadedRun> load_run(const RunFolder& run);

}  // namespace fact::driver
