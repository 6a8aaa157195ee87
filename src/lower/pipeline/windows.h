// Brings windows to where row kernels can read them: directly over tensors.
#pragma once

#include "ir/kernel.h"

namespace fact::lower {

// Windows that stay where they are, whatever they look at.
struct StayingWindows {
    bool cuts = false;  // those that only cut elements off a reduction or a product
    bool operands =
        false;  // those that a product reads as they are, which stores what they look at
};

// The same kernel with windows over parameters and intermediates in memory only. Pointwise values
// between these and a window are computed for every tap; a reduction or product behind a window
// becomes an intermediate.
ir::Kernel windows_at_leaves(const ir::Kernel& kernel, const StayingWindows& stay);

}  // namespace fact::lower
