// A run folder's package made again: of the patterns that pay, or of a set that somebody names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "driver/compose.h"

namespace fact::driver {

// The plan of exactly these patterns: each has to be there and to have a kernel, and no two may
// share an operator.
Result<Plan> plan_of(const Discovered& found, const Realizations& realizations,
                     const std::vector<std::string>& ids);

// Writes the package of `ids`; with none, of what pays, measured in the whole module where there is
// a GPU. The run folder is the caller's alone. A plan without a pattern writes nothing.
Result<Plan> compose_run(const RunFolder& run, const std::filesystem::path& output,
                         const std::vector<std::string>& ids);

}  // namespace fact::driver
