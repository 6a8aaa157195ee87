// When a search is good enough: pure decisions from the bound, the times so far and a model's
// opinion of what has not been tried.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace fact::sol {

struct Rules {
    double near_bound = 0.05;  // stop within this of the calibrated bound
    int least_near_bound = 2;  // but not on one time alone: the GPU may just have been cool
    double least_gain = 0.01;  // stop where the model expects less than this
    // Before so many the model is not believed: on eighteen shapes the best of its first eight was
    // within 2 % of the best of all (bench/results/h200/schedules.json).
    int least_measured = 8;
};

// A candidate that was timed, and what the model had said.
struct Tried {
    double model_us = 0, measured_us = 0;
};

struct Standing {
    double bound_us = 0;               // calibrated; 0: not known
    double best_us = 0;                // median of the fastest that passed; 0: none has
    std::vector<Tried> tried;          // all that passed, the best among them
    std::vector<double> remaining_us;  // the model's times of those that are left
};

struct Verdict {
    bool go_on = true;
    std::string reason;  // "within 5 % of the bound: ..."; "" while going on
};

// Whether another candidate is worth its compilation.
Verdict decide(const Standing& standing, const Rules& rules = {});

// What the fastest of `remaining_us` can be expected to take: the model's time, corrected by how
// those tried compare with it. Of their ratios a low one (the first quartile) is taken, so that a
// search is stopped too late rather than too early. 0 where nothing is left or nothing was tried.
double expected_best(std::span<const Tried> tried, std::span<const double> remaining_us);

// Whether a candidate of that model time may still beat the best: the model corrected as in
// expected_best. So may every one while few were tried, or where the model has no time (0) for it.
bool may_be_best(double model_us, const Standing& standing, const Rules& rules = {});

}  // namespace fact::sol
