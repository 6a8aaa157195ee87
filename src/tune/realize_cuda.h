// A family whose kernel is written in CUDA (dsl/cuda_text.h).
#pragma once

#include "match/patterns/pattern.h"
#include "tune/realize.h"

namespace fact::tune {

// The kernel is compiled, proved in full and timed, as a user's CUDA file is. Without a GPU it is
// only compiled and the family is not realized: there is no text that could be proved.
Result<Realization> realize_cuda(const match::Pattern& pattern, const std::string& source,
                                 const RealizeOptions& options);

}  // namespace fact::tune
