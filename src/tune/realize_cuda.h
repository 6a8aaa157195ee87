// A family whose one kernel is written in CUDA (dsl/cuda_text.h).
#pragma once

#include "match/patterns/pattern.h"
#include "tune/realize.h"

namespace fact::tune {

// Compiled, proved in full and timed as a CUDA file that the user gives. Without a GPU it is
// compiled only, and such a family is never realized: there is no text that could be proved.
Result<Realization> realize_cuda(const match::Pattern& pattern, const std::string& source,
                                 const RealizeOptions& options);

}  // namespace fact::tune
