// When to stop a search: pure decisions from the bound, the times so far and a model's estimates of
// the candidates that have not been tried.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace fact::sol {

struct Rules {
    double near_bound = 0.05;  // stop within this fraction of the calibrated bound
    int min_near_bound = 2;    // but only after this many measurements: the GPU may have been cool
    double min_gain = 0.01;    // stop if the model expects a smaller gain
    // The model decides only after this many measurements. On eighteen shapes the best of its first
    // eight was within 2 % of the best of all (bench/results/h200/schedules.json).
    int min_measured = 8;
};

// A candidate that was timed, and what the model had said.
struct Trial {
    double model_us = 0, measured_us = 0;
};

struct SearchState {
    double bound_us = 0;       // calibrated; 0: not known
    double best_us = 0;        // median time of the fastest candidate that passed; 0: none has
    std::vector<Trial> tried;  // all candidates that passed, including the best
    std::vector<double> remaining_us;  // the model's times of those not tried; 0: no estimate
};

struct Verdict {
    bool go_on = true;
    std::string reason;  // "within 5 % of the bound: ..."; "" while going on
};

// Whether another candidate is worth its compilation.
Verdict decide(const SearchState& state, const Rules& rules = {});

// The expected time of the fastest remaining candidate: the model's time, multiplied by a ratio of
// measured to modelled times. The ratio is a low one (the first quartile), so that a search stops
// too late rather than too early. 0 if nothing is left or nothing was tried.
double expected_best(std::span<const Trial> tried, std::span<const double> remaining_us);

// Whether a candidate with that model time, corrected as in expected_best, may beat the best. True
// as long as few were tried, or if the model has no estimate (0).
bool may_be_best(double model_us, const SearchState& state, const Rules& rules = {});

}  // namespace fact::sol
