// Stage 5: eager, torch.compile and the composed module, side by side.
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
    bool verbose = false;    // show what the module raised with its traceback
    std::string peers = {};  // "": torch.compile; "all": also its max-autotune
};

struct Benched {
    std::vector<report::ModuleRow> whole;
    std::string note;            // how the results compare numerically
    std::optional<bool> agrees;  // whether they are good enough; nothing: not compared
    std::string json;            // as the benchmark wrote it
    std::string date;
    bool earlier = false;  // an earlier run measured it, and not this one
};

Result<Benched> bench(const Environment& environment, const BenchRequest& request);

// What a benchmark follows from: the package's bytes for the run folder, and for other runs of the
// same module ("": of none).
struct BenchInputs {
    std::string package, anywhere;
};
// The same into bench.json of the run folder, unless it is there for the same package, or known
// from another run.
Result<Benched> bench_stage(const Environment& environment, const BenchRequest& request,
                            const RunFolder& run, const BenchInputs& from);

}  // namespace fact::driver
