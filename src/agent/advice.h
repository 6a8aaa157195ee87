// What a good colleague says of a kernel that works: what limits it, and what to try.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "match/cost.h"

namespace fact::agent {

// "tensor cores", "memory" or "launch".
std::string_view limit_of(const match::StageCost& stage);

struct Seen {
    match::Cost cost;
    std::vector<match::StageCost> stages;
    double time_us = 0, torch_us = 0;  // 0: not timed
    int spill_bytes = 0;               // of the fastest candidate
};

// One sentence each, the most promising first; none where nothing is left to gain.
std::vector<std::string> advice(const Seen& seen);

}  // namespace fact::agent
