// Replaces this program by another one.
#pragma once

#include "support/result.h"
#include "support/subprocess.h"

namespace fact {

// The process becomes the other program: standard streams, signals and the exit code are its own.
// Returns only if it cannot be started. Uses only argv and environment of the command.
Error become(const Command& command);

}  // namespace fact
