// What `fact kernel emit` prints and `fact kernel build` compiles.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/kernel_commands.h"
#include "tools/build.h"
#include "tools/choose.h"

namespace fact::cli {

struct EmittedKernel {
    tools::KernelSource source;
    tools::Emitted emitted;
    std::string note;  // which schedules were chosen, and why; may be empty
};
Result<EmittedKernel> emit_kernel(const EmitOptions& options);

using Json = nlohmann::ordered_json;
Json emitted_json(const EmittedKernel& kernel);

}  // namespace fact::cli
