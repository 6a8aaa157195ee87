// Compares a tensor with the expected one.
#pragma once

#include <string>

#include "tools/host_tensor.h"

namespace fact::tools {

struct Comparison {
    bool agrees = false;
    double error = 0;    // the largest error, relative to the largest expected magnitude
    double allowed = 0;  // the largest `error` that agrees
    std::string what;    // "largest error 0.5 at [3, 1]: 1.5 instead of 1"
};

// Both have the same type. Integers, and the positions of non-finite values, must be equal; finite
// floating values may differ by a few roundings of the type.
Comparison compare(const HostTensor& found, const HostTensor& expected);

}  // namespace fact::tools
