// Times of one piece of work on the GPU, through events of the driver.
#pragma once

#include <functional>

#include "support/result.h"
#include "support/times.h"

namespace fact::calibrate {

// Queues work on the default stream and returns without waiting for it.
using Work = std::function<Result<>()>;

class Clock {
  public:
    // `hold(us)` keeps the GPU busy for about that time, while the host fills the queue.
    explicit Clock(std::function<Result<>(double us)> hold) : hold_(std::move(hold)) {}

    // Times each run by itself. The GPU is held until the run is queued, so that the host's time
    // does not count.
    Result<Times> single(const Work& work, int runs) const;
    // Times runs back to back, in rounds of about `round_us`: at the clock that the power limit
    // leaves.
    Result<Times> sustained(const Work& work, int rounds, double round_us) const;

  private:
    // Microseconds of `count` runs together.
    Result<double> time(const Work& work, int count, double hold_us) const;
    std::function<Result<>(double us)> hold_;
};

}  // namespace fact::calibrate
