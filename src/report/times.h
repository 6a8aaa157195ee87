// Measured times as every table shows them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "support/times.h"

namespace fact::report {

// The median, "-" where there is none.
std::string time_text(const Times& times);

// "1.31x (1.28 to 1.33)": how much faster `fused` is, with what the spreads allow.
std::string speedup(const Times& fused, const Times& baseline);

// As every JSON of ours has them; null where nothing was measured.
nlohmann::ordered_json to_json(const Times& times);

}  // namespace fact::report
