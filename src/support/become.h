// Replaces this program by another one.
#pragma once

#include "support/result.h"
#include "support/subprocess.h"

namespace fact {

// Turns this process into the command's program: standard streams, signals sent to this process and
// its exit code are then the program's. Returns only if the program cannot be started. Of the
// command, only argv and environment are used.
Error become(const Command& command);

}  // namespace fact
