// Replaces this program by another one.
#pragma once

#include "support/result.h"
#include "support/subprocess.h"

namespace fact {

// This process becomes the other program, which takes over its standard streams, signals and exit
// code. Returns only if the program cannot be started. Uses only argv and environment of the
// command.
Error become(const Command& command);

}  // namespace fact
