// GPU times of several pieces of work, taken in turns so that all see the same GPU.
#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <vector>

#include "support/times.h"
#include "verify/protocol.h"

namespace fact::exec {

// Gives work to the current stream and returns without waiting for it.
using Work = std::function<void()>;

// One at a time on a GPU that is otherwise idle. The queue is kept full before each, so that the
// host's time to launch is not counted. `between` is done before each turn, and not counted either.
// All of it takes about `milliseconds`, or longer where that would be too few runs.
std::vector<Times> time_single(const std::vector<Work>& works, c10::Device device,
                               double milliseconds, const Work& between = {});

// Back to back, each for long enough at a time to heat the GPU: what its power limit leaves.
std::vector<Times> time_sustained(const std::vector<Work>& works, c10::Device device,
                                  double milliseconds, const Work& between = {});

// The launches of our kernels in such work, in their order, each waited for before the next.
std::vector<verify::LaunchTime> time_launches(const Work& work, c10::Device device);

}  // namespace fact::exec
