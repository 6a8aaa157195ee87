// Results verified without a GPU: nothing was measured, so they do not go to the registry, but the
// same check need not be made twice. They are files in results/ of the artifact store.
#pragma once

#include <optional>
#include <vector>

#include "tune/remembered.h"

namespace fact::tune {

// Writes the family's files and result from an earlier check of the same candidates against the
// same subgraph; nullopt if there is none or the winner's cubin is not available.
Result<std::optional<Realization>> verified_before(const match::Pattern& pattern,
                                                   const Memory& memory,
                                                   const std::vector<Candidate>& candidates,
                                                   const RealizeOptions& options);

// Stores a result for verified_before; does nothing if a GPU measured it.
Result<> remember_verified(const Realization& r, const match::Pattern& pattern,
                           const Memory& memory, const std::vector<Candidate>& candidates,
                           const RealizeOptions& options);

}  // namespace fact::tune
