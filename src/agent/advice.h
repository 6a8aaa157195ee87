// Advice on a kernel that works: what limits it, and what to try.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "match/text/cost.h"
#include "verify/protocol.h"

namespace fact::agent {

// A kernel within 10 % of its bound gets no advice.
inline constexpr double kNearBound = 1.1;

// What sets the stage's bound: "tensor cores" (any arithmetic, also without a product), "memory" or
// "launch".
std::string_view limit_of(const match::StageCost& stage);

// The total time of the stage's launches; 0 if none was timed.
double time_of(const match::StageCost& stage, const std::vector<verify::LaunchTime>& launches);

// What is known of a kernel: its cost, and what was measured.
struct MeasuredKernel {
    match::Cost cost;
    std::vector<match::StageCost> stages;
    double time_us = 0, torch_us = 0;               // 0: not timed
    int spill_bytes = 0;                            // of the fastest candidate
    std::vector<verify::LaunchTime> launches = {};  // of the fastest candidate, if timed
};

// Sentences, the most promising first; none if nothing is left to gain.
std::vector<std::string> advice(const MeasuredKernel& kernel);

}  // namespace fact::agent
