// The process groups that Ctrl-C has to kill, in a form that a signal handler may read.
#pragma once

#include <sys/types.h>

namespace fact {

// Returns the slot for unregister_group. A group registered after an interrupt is killed at once.
int register_group(pid_t group);
void unregister_group(int slot);

}  // namespace fact
