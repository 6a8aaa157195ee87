// The product skeletons side by side: which schedules each takes, and what they come to.
#pragma once

#include <string>
#include <vector>

#include "schedule/schedule.h"
#include "target/arch.h"

namespace fact::schedule {

// Legal schedules of the skeleton for the problem, the most promising first.
std::vector<Schedule> candidates(Skeleton skeleton, const Problem& problem);
// What the model says the product takes, in microseconds.
double expected_us(Skeleton skeleton, const Schedule& schedule, const Problem& problem);
// Why the schedule cannot serve, or "".
std::string illegal(Skeleton skeleton, const Schedule& schedule, const Problem& problem);
SharedMemory shared_memory(Skeleton skeleton, const Schedule& schedule, const Problem& problem);
// Registers of a thread that hold sums, of a legal schedule.
int accumulators_a_thread(Skeleton skeleton, const Schedule& schedule, const Problem& problem);
// Whether the kernel finds statistics of its rows for its epilogue itself.
bool finds_statistics(Skeleton skeleton, const Schedule& schedule, const Problem& problem);

}  // namespace fact::schedule
