// Several linears as one candidate: linears.cpp and folds.cpp alone.
#pragma once

#include <optional>
#include <vector>

#include "match/families/family.h"

namespace fact::match {

// With the norm that all of them read, where there is a `fold`. Nothing where no kernel computes
// them together.
std::optional<Candidate> joined_candidate(const Search& search, std::vector<Region> group,
                                          const Fold* fold);

}  // namespace fact::match
