// Summarizes a tensor in one line: range, mean, and a checksum to compare runs by.
#pragma once

#include <string>

#include "tools/host_tensor.h"

namespace fact::tools {

struct Statistics {
    std::int64_t count = 0, nans = 0, infinities = 0;
    double min = 0, max = 0;  // ignoring NaN
    double mean = 0;          // of the finite elements
    std::string checksum;     // of type, sizes and bytes
};
Statistics statistics_of(const HostTensor& tensor);

// "min -0.17  max 3.2  mean 0.41  checksum 1a2b3c4d5e6f7081"
std::string to_string(const Statistics& statistics);

}  // namespace fact::tools
