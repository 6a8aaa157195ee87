// Many measurements as the few numbers that are reported.
#pragma once

#include <vector>

#include "verify/protocol.h"

namespace fact::verify {

// Median, 10th and 90th percentile (nearest rank) and count; all zero for none.
Timing summarize(std::vector<double> microseconds);

}  // namespace fact::verify
