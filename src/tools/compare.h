// Whether a tensor is the one that was expected.
#pragma once

#include <string>

#include "tools/host_tensor.h"

namespace fact::tools {

struct Comparison {
    bool agrees = false;
    double error = 0;    // the largest, over the largest magnitude that was expected
    double allowed = 0;  // of that
    std::string what;    // "largest error 0.5 at [3, 1]: 1.5 instead of 1"
};

// Both of the same type. Integers, and where values are not finite, must be the same; of floating
// values the error may be a few roundings of the type.
Comparison compare(const HostTensor& found, const HostTensor& expected);

}  // namespace fact::tools
