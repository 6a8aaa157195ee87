// Which of the measured candidates is best.
#pragma once

#include <vector>

#include "tune/realization.h"

namespace fact::tune {

// The time relative to the baseline, which is timed in turns with it: a GPU that has warmed up
// since the last candidate slows both. If there is a sustained time too, both count equally.
double cost(const CandidateResult& result);

// The fastest that passed, among those with sustained times if there are any; if launches are long
// enough to meet the GPU's power limit, among those nearly as fast that fetch least. Of those as
// fast within the spread, the first. Without times, the first that passed. -1: none passed.
int best_of(const std::vector<CandidateResult>& results);
// The candidates without sustained times that may be the fastest on a hot GPU, best first.
std::vector<int> contenders(const std::vector<CandidateResult>& results, int most);

}  // namespace fact::tune
