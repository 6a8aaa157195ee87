// Finds the mistakes in a kernel text, including those that only show when it is lowered.
#pragma once

#include <optional>

#include "tools/kernel_source.h"

namespace fact::tools {

struct Checked {
    std::optional<dsl::Program> program;  // nullopt if there are errors
    Diagnostics diagnostics;
};

// A text that passes can be emitted, with typical extents (Assume::typical).
Checked check(const KernelSource& source);

}  // namespace fact::tools
