// Writes a run folder's package again: with the patterns that pay off, or with a given set.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "driver/compose.h"

namespace fact::driver {

// The plan of exactly these patterns: each has to exist and to have a kernel, and no two may share
// an operator.
Result<Plan> plan_of(const Discovered& found, const Realizations& realizations,
                     const std::vector<std::string>& ids);

// Writes the package of the patterns `ids` or, without any, of those that pay off (measured in the
// whole module if there is a GPU). The caller holds the run folder's lock. A plan without a pattern
// writes nothing.
Result<Plan> compose_run(const RunFolder& run, const std::filesystem::path& output,
                         const std::vector<std::string>& ids);

}  // namespace fact::driver
