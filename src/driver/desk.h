// A run folder with its graph read, ready for many actions.
#pragma once

#include <vector>

#include "driver/discover.h"
#include "driver/environment.h"
#include "driver/realize.h"
#include "driver/run_folder.h"
#include "sol/graph_bound.h"
#include "support/result.h"

namespace fact::driver {

struct Desk {
    RunFolder run;
    Environment environment;
    match::Options options;
    Discovered found;
    std::vector<sol::NodeBound> bounds;  // of every operator
    // How kernels for texts are realized; what the user gave for other patterns (`also`) is not.
    RealizeRequest realizing = {};
    std::filesystem::file_time_type written = {};  // discovery.json, as it was read
};

// Whether the run's patterns have changed since the desk read them.
bool is_stale(const Desk& desk);

Result<Desk> open_desk(const RunFolder& run);

}  // namespace fact::driver
