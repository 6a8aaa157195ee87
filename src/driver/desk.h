// A run folder with its graph read, ready for many actions.
#pragma once

#include <vector>

#include "driver/discover.h"
#include "driver/environment.h"
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
};

Result<Desk> open_desk(const RunFolder& run);

}  // namespace fact::driver
