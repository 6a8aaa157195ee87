// The stage realize: a tuned kernel for every family of patterns.
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
    int jobs = 0;                             // compilers at a time; 0: one per core
    std::vector<std::filesystem::path> also;  // the user's CUDA files, tried as candidates too
    std::vector<std::string> only;            // patterns or families; empty: all
    bool registry = true;                     // whether it is read and written
    bool retune = false;                      // search again even if the result is known already
};

using Realizations = std::map<std::string, tune::Realization>;  // by family

// Realizes the most promising families first; results of an earlier run are read.
Result<Realizations> realize_stage(const Environment& environment, const RunFolder& run,
                                   const match::Discovery& discovery,
                                   const RealizeRequest& request);

// The results in the run folder; families without one are missing.
Result<Realizations> read_realizations(const RunFolder& run, const match::Discovery& discovery);

// The time of a pattern's operators, by its kernel or by torch's, whichever is faster: measured, or
// else by their bounds.
double expected_us(const match::Pattern& pattern, const Realizations& realizations);

}  // namespace fact::driver
