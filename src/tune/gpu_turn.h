// Runs that share a GPU measure one at a time: two at once would time each other's kernels.
#pragma once

#include <optional>
#include <string_view>

#include "support/file_lock.h"

namespace fact::tune {

// Waits until no other run of this user uses the GPUs that are visible here, and reserves them for
// the lifetime of the lock. nullopt on a CPU.
Result<std::optional<FileLock>> gpu_turn(std::string_view device);

}  // namespace fact::tune
