// Measured times as every table shows them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "support/times.h"

namespace fact::report {

// The median; "-" if nothing was measured.
std::string time_text(const Times& times);

// "1.31x (1.28 to 1.33)": how much faster `fused` is, with the range that the spreads allow.
std::string speedup(const Times& fused, const Times& baseline);

// The JSON form used in all of FACT's files; null if nothing was measured.
nlohmann::ordered_json to_json(const Times& times);

}  // namespace fact::report
