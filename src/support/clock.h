// Times in the format of our files.
#pragma once

#include <string>

namespace fact {

// "2026-01-31T12:00:00.123Z"; such texts sort by time.
std::string utc_now();
// The same, `days` days ago.
std::string utc_days_ago(double days);

}  // namespace fact
