// Which of the measured candidates is best.
#pragma once

#include <vector>

#include "tune/realization.h"

namespace fact::tune {

// The candidate's time relative to the baseline's, which is measured in turns with it: a GPU that
// has warmed up since the last candidate slows both. If there are sustained times too, the single
// and the sustained ratio count equally. Without a baseline, the time in microseconds.
double cost(const CandidateResult& result);

// The index of the best candidate that passed; -1 if none did. If some have sustained times, only
// they are compared. The fastest wins, with two exceptions: if its launch is long enough to meet
// the GPU's power limit, the one that fetches least among those nearly as fast; and among those
// that are equally fast within the spread of the times, the first. Without times, the first wins.
int best_of(const std::vector<CandidateResult>& results);
// The indices of at most `most` candidates without sustained times that may be the fastest on a hot
// GPU, best first.
std::vector<int> contenders(const std::vector<CandidateResult>& results, int most);

}  // namespace fact::tune
