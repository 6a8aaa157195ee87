// The groups that Ctrl-C has to kill, in a form a signal handler may read.
#pragma once

#include <sys/types.h>

namespace fact {

// Returns the slot to give back. A group registered after an interrupt is killed at once.
int register_group(pid_t group);
void unregister_group(int slot);

}  // namespace fact
