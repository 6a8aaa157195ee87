// Measurements of whole modules that outlive a run folder: a file each, named by what it follows
// from, beside the compiled kernels.
#pragma once

#include <optional>
#include <string>

#include "driver/environment.h"

namespace fact::driver {

// What `stage` gave for these inputs in any run on this GPU (or without one).
std::optional<std::string> recalled(const Environment& environment, const std::string& stage,
                                    const std::string& inputs);
Result<> memorize(const Environment& environment, const std::string& stage,
                  const std::string& inputs, const std::string& result);

}  // namespace fact::driver
