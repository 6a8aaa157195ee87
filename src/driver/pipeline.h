// From a user's file to a package and a page of results: the stages in order.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "driver/agent_stage.h"
#include "driver/run_folder.h"
#include "report/report.h"
#include "support/result.h"
#include "tune/effort.h"

namespace fact::driver {

struct OptimizeRequest {
    Settings settings;
    std::optional<std::filesystem::path> output;   // default: package/ in the run folder
    std::optional<std::filesystem::path> run_dir;  // default: default_run_folder
    tune::Effort effort;
    int jobs = 0;                             // compilers at a time; 0: one per core
    std::vector<std::filesystem::path> also;  // the user's CUDA files, tried as candidates too
    bool bench = true;                        // time the whole module and compare its results
    bool registry = true;  // whether results of other runs are used, and those of this run stored
    bool shipped_rules = true;  // whether the learned rules that come with FACT are used
    bool retune = false;        // search again even if the result is known already
    AgentRequest agent;         // a language model in addition to the rules
    bool verbose = false;       // show exceptions of the module with their traceback
};

// Each stage reads and writes files of the run folder and skips what is already done, so the same
// request continues where an earlier one stopped.
Result<report::Report> optimize(const OptimizeRequest& request);

}  // namespace fact::driver
