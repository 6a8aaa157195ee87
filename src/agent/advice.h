// What a good colleague says of a kernel that works: what limits it, and what to try.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "match/text/cost.h"
#include "verify/protocol.h"

namespace fact::agent {

// What is within 10 % of its bound is left as it is.
inline constexpr double kNearBound = 1.1;

// "tensor cores", "memory" or "launch".
std::string_view limit_of(const match::StageCost& stage);

// What the launches of that stage take together; 0 where none was timed.
double time_of(const match::StageCost& stage, const std::vector<verify::LaunchTime>& launches);

struct Seen {
    match::Cost cost;
    std::vector<match::StageCost> stages;
    double time_us = 0, torch_us = 0;               // 0: not timed
    int spill_bytes = 0;                            // of the fastest candidate
    std::vector<verify::LaunchTime> launches = {};  // of the fastest candidate, where timed
};

// One sentence each, the most promising first; none where nothing is left to gain.
std::vector<std::string> advice(const Seen& seen);

}  // namespace fact::agent
