// Brings windows to where row kernels can read them: directly over tensors.
#pragma once

#include "ir/kernel.h"

namespace fact::lower {

// The same kernel with windows over parameters and intermediates in memory only. Pointwise values
// between these and a window are computed for every tap; a reduction or product behind a window
// becomes an intermediate, unless `cuts_stay` and the window only cuts elements off.
ir::Kernel windows_at_leaves(const ir::Kernel& kernel, bool cuts_stay);

}  // namespace fact::lower
