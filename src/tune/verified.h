// What was verified without a GPU: nothing was measured, so that it is no knowledge for the
// registry, but the same check need not be made twice. Files of the artifact store's results/.
#pragma once

#include <optional>
#include <vector>

#include "tune/remembered.h"

namespace fact::tune {

// The family's files and result from an earlier check of the same candidates against the same
// subgraph, where the winner's cubin is at hand; nothing where there is none.
Result<std::optional<Realization>> verified_before(const match::Pattern& pattern,
                                                   const Memory& memory,
                                                   const std::vector<Candidate>& candidates,
                                                   const RealizeOptions& options);

// Keeps a result that verified_before can give again; one that a GPU measured is not its business.
Result<> remember_verified(const Realization& r, const match::Pattern& pattern,
                           const Memory& memory, const std::vector<Candidate>& candidates,
                           const RealizeOptions& options);

}  // namespace fact::tune
