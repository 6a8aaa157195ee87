// Measured times as every table shows them.
#pragma once

#include <string>

#include "support/times.h"

namespace fact::report {

// The median, "-" where there is none.
std::string time_text(const Times& times);

// "1.31x (1.28 to 1.33)": how much faster `fused` is, with what the spreads allow.
std::string speedup(const Times& fused, const Times& baseline);

}  // namespace fact::report
