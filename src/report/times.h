// Measured times as every table shows them.
#pragma once

#include <string>

namespace fact::report {

struct Times {
    double median_us = 0, low_us = 0, high_us = 0;  // low and high: 10th and 90th percentile
    int runs = 0;                                   // 0: not measured
};

// The median, "-" where there is none.
std::string time_text(const Times& times);

// "1.31x (1.28 to 1.33)": how much faster `fused` is, with what the spreads allow.
std::string speedup(const Times& fused, const Times& baseline);

}  // namespace fact::report
