// What has to hold before and between the passes of lowering.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/kernel.h"
#include "support/result.h"

namespace fact::lower {

// A pass that leaves an ill-formed kernel is a bug of ours.
void verify(std::string_view pass, const ir::Kernel& kernel);
// The same for a stage. At launch its outputs are bound like its parameters, so both supply
// extents.
void verify_stage(ir::Kernel stage);
// An Error if an extent (by dimension, as far as they are known) is larger than the launcher
// accepts, before anything is compiled.
Result<> check_extents(const ir::Kernel& kernel, const std::vector<std::int64_t>& extents);

}  // namespace fact::lower
