// The memory a call needs besides its tensors.
#pragma once

#include <vector>

#include "ir/kernel.h"
#include "target/launch_record.h"
#include "tools/extents.h"

namespace fact::tools {

// The bytes of each workspace of the record for these extents of the kernel's dimensions.
std::vector<double> workspace_bytes(const LaunchRecord& record, const ir::Kernel& kernel,
                                    const Extents& extents);

}  // namespace fact::tools
