// Several linears as one candidate; only for linears.cpp and folds.cpp.
#pragma once

#include <optional>
#include <vector>

#include "match/families/family.h"

namespace fact::match {

// With `fold`, the norm that all linears of the group read is part of the candidate. nullopt if one
// kernel cannot compute them. Defined in linears.cpp.
std::optional<Candidate> joined_candidate(const Search& search, std::vector<Region> group,
                                          const Fold* fold);

}  // namespace fact::match
