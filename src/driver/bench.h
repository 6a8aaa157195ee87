// The stage bench: eager, torch.compile and the composed module, side by side.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "driver/environment.h"
#include "driver/run_folder.h"
#include "report/report.h"

namespace fact::driver {

struct BenchRequest {
    std::filesystem::path package;
    std::string source, dtype;
    bool allow_tf32 = false;
    bool training = false;
    bool verbose = false;    // show exceptions of the module with their traceback
    std::string peers = {};  // "" or "default": torch.compile; "all": also its max-autotune
    bool brief = false;      // times of single calls only, and not of the exported graph
};

struct Benched {
    std::vector<report::ModuleRow> whole;
    std::string note;            // how the results compare numerically
    std::optional<bool> agrees;  // whether they are close enough; nullopt: not compared
    std::string json;            // the benchmark's own output
    std::string date;            // of the measurement
    bool earlier = false;        // measured by an earlier run, not by this one
};

Result<Benched> bench(const Environment& environment, const BenchRequest& request);

// What the result depends on: equal strings, equal results.
struct BenchInputs {
    std::string package;   // compared within this run
    std::string anywhere;  // compared with other runs of the module; "": the result is not shared
};
// Benchmarks into bench.json of the run folder, unless this run or another one has the result for
// the same inputs.
Result<Benched> bench_stage(const Environment& environment, const BenchRequest& request,
                            const RunFolder& run, const BenchInputs& from);

}  // namespace fact::driver
