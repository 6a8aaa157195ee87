// The time of day as our files spell it.
#pragma once

#include <string>

namespace fact {

// "2026-01-31T12:00:00.123Z"; texts like this sort as their moments do.
std::string utc_now();
// The same, `days` days ago.
std::string utc_days_ago(double days);

}  // namespace fact
