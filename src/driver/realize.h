// Stage 3: a tuned kernel for every family of patterns.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "driver/discover.h"
#include "driver/environment.h"
#include "driver/run_folder.h"
#include "tune/effort.h"
#include "tune/realize.h"

namespace fact::driver {

struct RealizeRequest {
    tune::Effort effort;
    int jobs = 0;  // compilers at a time; 0: one a core
    std::vector<std::filesystem::path> also;
    std::vector<std::string> only;  // patterns or families; empty: all
    bool registry = true;           // whether it is read and written
    bool retune = false;            // search again where the answer is known already
};

using Realizations = std::map<std::string, tune::Realization>;  // by family

// Families that promise most first; finished ones of an earlier run are read.
Result<Realizations> realize_stage(const Environment& environment, const RunFolder& run,
                                   const match::Discovery& discovery,
                                   const RealizeRequest& request);

// What earlier runs left; families without a result are missing.
Result<Realizations> read_realizations(const RunFolder& run, const match::Discovery& discovery);

// What a pattern's operators take: as its kernel and torch's own were timed, else by their bounds;
// the faster of the two.
double expected_us(const match::Pattern& pattern, const Realizations& realizations);

}  // namespace fact::driver
