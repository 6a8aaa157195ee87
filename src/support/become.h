// Another program in the place of this one.
#pragma once

#include "support/result.h"
#include "support/subprocess.h"

namespace fact {

// From here on this process is the program: standard streams, signals and the exit code are its
// own. Comes back only where it cannot be started. Of the command: argv and environment.
Error become(const Command& command);

}  // namespace fact
