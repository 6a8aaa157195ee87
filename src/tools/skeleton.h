// The product skeletons side by side: which schedules each takes, and what they come to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lower/pipeline/plan.h"
#include "schedule/schedule.h"
#include "support/result.h"

namespace fact::tools {

using lower::candidates;
using lower::expected_us;
using lower::illegal;
using lower::Skeleton;

std::string_view name(Skeleton skeleton);
// An Error unless there are kernels for the architecture.
Result<> check_arch(std::string_view arch);

schedule::SharedMemory shared_memory(Skeleton skeleton, const schedule::Schedule& schedule,
                                     const schedule::Problem& problem);
// Registers of a thread that hold sums, of a legal schedule.
int accumulators_a_thread(Skeleton skeleton, const schedule::Schedule& schedule,
                          const schedule::Problem& problem);

}  // namespace fact::tools
