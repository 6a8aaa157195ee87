// Results verified without a GPU: nothing was measured, so they do not go to the registry, but the
// same check need not be made twice. They are files in results/ of the artifact store. On a GPU,
// with the user's CUDA files, for retuning, and without a registry or a call, both functions do
// nothing.
#pragma once

#include <optional>
#include <vector>

#include "tune/remembered.h"

namespace fact::tune {

// Writes the family's files and result from an earlier check of the same candidates against the
// same subgraph; nullopt if there is none or the winner's cubin is not available.
Result<std::optional<Realization>> realize_verified_before(const match::Pattern& pattern,
                                                           const PriorKnowledge& prior,
                                                           const std::vector<Candidate>& candidates,
                                                           const RealizeOptions& options);

// Stores a result for realize_verified_before, unless it failed or was itself resumed.
Result<> remember_verified(const Realization& r, const match::Pattern& pattern,
                           const PriorKnowledge& prior, const std::vector<Candidate>& candidates,
                           const RealizeOptions& options);

}  // namespace fact::tune
