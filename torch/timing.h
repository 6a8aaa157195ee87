// GPU times of several pieces of work, measured in turns: the GPU is in the same state for all.
#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <vector>

#include "support/times.h"
#include "verify/protocol.h"

namespace fact::exec {

// Queues work on the current stream and returns without waiting for it.
using Work = std::function<void()>;

// Runs one piece of work at a time on a GPU that is otherwise idle. The GPU is kept busy before
// each run, so that the host's time to launch is not counted. `between` runs before each turn, and
// is not counted either. Everything takes about `milliseconds`, or longer if that would be too few
// runs: 7, and as many as fit into four times that, but at most 25, until the standard error of
// each median is at most 0.5 %.
std::vector<Times> time_single(const std::vector<Work>& works, c10::Device device,
                               double milliseconds, const Work& between = {});

// Runs each many times without a pause, for long enough to heat the GPU: times are those at the
// clock that its power limit allows.
std::vector<Times> time_sustained(const std::vector<Work>& works, c10::Device device,
                                  double milliseconds, const Work& between = {});

// Times the launches of our kernels within one piece of work, in their order.
std::vector<verify::LaunchTime> time_launches(const Work& work, c10::Device device);

}  // namespace fact::exec
