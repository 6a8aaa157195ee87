// The schedules of each product skeleton: which are legal, their expected time and resources.
#pragma once

#include <string>
#include <vector>

#include "schedule/schedule.h"
#include "target/arch.h"

namespace fact::schedule {

// Legal schedules, the most promising first.
std::vector<Schedule> candidates(Skeleton skeleton, const Problem& problem);
// The product's time by the model, in microseconds.
double expected_us(Skeleton skeleton, const Schedule& schedule, const Problem& problem);
// Why the schedule is not legal, or "".
std::string illegal(Skeleton skeleton, const Schedule& schedule, const Problem& problem);
SharedMemory shared_memory(Skeleton skeleton, const Schedule& schedule, const Problem& problem);
// Registers per thread that hold sums; the schedule must be legal.
int accumulators_per_thread(Skeleton skeleton, const Schedule& schedule, const Problem& problem);
// Whether the kernel itself computes the statistics of its rows that its epilogue reads.
bool finds_statistics(Skeleton skeleton, const Schedule& schedule, const Problem& problem);

}  // namespace fact::schedule
