// The summary of many measured times, as it is stored and reported.
#pragma once

#include <vector>

namespace fact {

struct Times {
    double median_us = 0, low_us = 0, high_us = 0;  // low and high: 10th and 90th percentile
    int runs = 0;                                   // 0: not measured
    bool operator==(const Times&) const = default;
};

// Median, 10th and 90th percentile (nearest rank) and count; all zero if there are no times.
Times summarize(std::vector<double> microseconds);

// How far the median may be off, in microseconds, given the number of runs: two standard errors,
// estimated from the 10th and the 90th percentile.
double uncertainty(const Times& times);

}  // namespace fact
