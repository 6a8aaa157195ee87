// The stage trace: the user's module as an archive.
#pragma once

#include "driver/environment.h"
#include "driver/run_folder.h"
#include "support/result.h"

namespace fact::driver {

struct TraceRequest {
    std::string source, dtype;
    bool training = false;
    bool without_weights = false;  // the archive holds no parameters
    std::string device = "cpu";
    bool verbose = false;  // show exceptions of the module with their traceback
};

// Whether the source can be a module at all, before anything is started.
Result<> check_source(const std::string& source);

// Exports to `archive`, completely or not at all; writes to `sources` ("": nowhere) the files and
// environment variables that the module was built from.
Result<> trace(const Environment& environment, const TraceRequest& request,
               const std::filesystem::path& archive, const std::filesystem::path& sources);

// Exports into a run folder, unless the archive there was made from the same files and variables.
// Returns whether anything was done.
Result<bool> trace_stage(const Environment& environment, const TraceRequest& request,
                         const RunFolder& run);

// Identifies the files and variables that the run's module was built from, and how; "" if that is
// not known. Two runs with equal identities have the same module.
std::string module_identity(const Environment& environment, const TraceRequest& request,
                            const RunFolder& run);

}  // namespace fact::driver
