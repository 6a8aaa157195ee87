// Two runs side by side, read from their files.
#pragma once

#include <filesystem>

#include "report/compare.h"
#include "support/result.h"

namespace fact::driver {

// Compares run folders in which `fact optimize` got as far as a report. Patterns correspond if they
// contain the same operators or, when the graphs differ, if their kernel texts and extents are
// equal.
Result<report::Comparison> compare_runs(const std::filesystem::path& a,
                                        const std::filesystem::path& b);

}  // namespace fact::driver
