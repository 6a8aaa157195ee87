// The product skeletons side by side: which schedules each takes, and what they come to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lower/pipeline/plan.h"
#include "schedule/schedule.h"
#include "support/result.h"

namespace fact::tools {

using lower::Skeleton;

std::string_view name(Skeleton skeleton);
// An Error unless there are kernels for the architecture.
Result<> check_arch(std::string_view arch);

// Why the schedule cannot serve, or "".
std::string illegal(Skeleton skeleton, const schedule::Schedule& schedule,
                    const schedule::Problem& problem);
// Most promising first.
std::vector<schedule::Schedule> candidates(Skeleton skeleton, const schedule::Problem& problem);
// What the model says the product takes.
double expected_us(Skeleton skeleton, const schedule::Schedule& schedule,
                   const schedule::Problem& problem);
schedule::SharedMemory shared_memory(Skeleton skeleton, const schedule::Schedule& schedule,
                                     const schedule::Problem& problem);
// Registers of a thread that hold sums, of a legal schedule.
int accumulators_a_thread(Skeleton skeleton, const schedule::Schedule& schedule,
                          const schedule::Problem& problem);

}  // namespace fact::tools
