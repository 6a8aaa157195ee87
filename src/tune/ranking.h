// Which of the measured candidates is best.
#pragma once

#include <vector>

#include "tune/realization.h"

namespace fact::tune {

// Relative to the baseline timed in turns with it: a GPU that has warmed up since the last
// candidate slows both. One that was also timed sustained is judged by both times alike.
double cost(const CandidateResult& result);

// The fastest that passed, of those timed sustained where any was; of those as fast within its
// spread, the one that comes first. Of launches long enough to meet the GPU's power limit, the one
// that fetches least of those nearly as fast. Without times, the first that passed. -1: none did.
int best_of(const std::vector<CandidateResult>& results);
// The few that may be the fastest on a hot GPU, best first, of those not yet timed on one.
std::vector<int> contenders(const std::vector<CandidateResult>& results, int most);

}  // namespace fact::tune
