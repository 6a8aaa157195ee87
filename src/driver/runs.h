// The runs of a folder, read from their files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "driver/pipeline.h"
#include "driver/run_state.h"

namespace fact::driver {

struct FamilySummary {
    std::string family, kernel, schedule, outcome;  // outcome: "12.3 us, torch 20.1 us", or why not
    std::string candidates;                         // "9 candidates: 7 passed, ..."
    bool done = false;                              // it has a result
    bool realized = false;                          // it has a kernel
};

struct RunSummary {
    std::filesystem::path folder;
    Settings settings;
    std::optional<Asked> asked;  // nullopt: not made by `fact optimize`
    RunState state;              // if none was written, inferred from the files
    std::vector<FamilySummary> families;
    int done() const;              // how many families have a result
    std::string progress() const;  // "finished", "interrupted in realize"
};

// ".fact/runs" of the folder fact was started in.
std::filesystem::path runs_folder();

// The runs in `folder`, latest first; folders that are not runs are left out.
std::vector<RunSummary> list_runs(const std::filesystem::path& folder);

// `name` is a path, the name of a run in runs_folder(), or the beginning of one.
Result<std::filesystem::path> find_run(const std::string& name);
Result<RunSummary> summarize_run(const std::filesystem::path& folder);

// The request with which `fact optimize` continues the run; an Error if that command did not make
// the run.
Result<OptimizeRequest> request_of(const RunSummary& run);

}  // namespace fact::driver
