// Measurements of whole modules that other runs can reuse: one file each, named by a hash of the
// inputs, next to the compiled kernels.
#pragma once

#include <optional>
#include <string>

#include "driver/environment.h"

namespace fact::driver {

// The result of `stage` for these inputs in any run on this GPU (or without one); nullopt if there
// is none.
std::optional<std::string> find_memo(const Environment& environment, const std::string& stage,
                                     const std::string& inputs);
Result<> store_memo(const Environment& environment, const std::string& stage,
                    const std::string& inputs, const std::string& result);

}  // namespace fact::driver
