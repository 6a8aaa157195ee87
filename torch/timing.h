// GPU times of several pieces of work, taken in turns so that all see the same GPU.
#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <vector>

#include "verify/protocol.h"

namespace fact::exec {

// Gives work to the current stream and returns without waiting for it.
using Work = std::function<void()>;

// One at a time on a GPU that is otherwise idle. The queue is kept full before each, so that the
// host's time to launch is not counted. `between` is done before each turn, and not counted either.
std::vector<verify::Timing> time_single(const std::vector<Work>& works, c10::Device device,
                                        const Work& between = {});

// Back to back, at least 100 ms of each in a round: what a GPU at its power limit gives.
std::vector<verify::Timing> time_sustained(const std::vector<Work>& works, c10::Device device,
                                           const Work& between = {});

}  // namespace fact::exec
