// Two runs side by side, as their files tell of them.
#pragma once

#include <filesystem>

#include "report/compare.h"
#include "support/result.h"

namespace fact::driver {

// Of run folders whose `fact optimize` came to a report. Patterns are the same where they take the
// same operators; of modules whose graphs differ, where their kernel texts and extents are the
// same.
Result<report::Comparison> compare_runs(const std::filesystem::path& a,
                                        const std::filesystem::path& b);

}  // namespace fact::driver
