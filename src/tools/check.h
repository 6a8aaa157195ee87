// What is wrong in a kernel text, up to what only shows when its kernels are lowered.
#pragma once

#include <optional>

#include "tools/kernel_source.h"

namespace fact::tools {

struct Checked {
    std::optional<dsl::Program> program;  // none where there are errors
    Diagnostics diagnostics;
};

// What passes can be emitted, with extents as `emit` assumes them.
Checked check(const KernelSource& source);

}  // namespace fact::tools
