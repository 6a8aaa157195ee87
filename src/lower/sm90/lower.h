// From a checked kernel and a schedule to CUDA source with the skeletons of kernels/sm90, and its
// launch record.
#pragma once

#include <string>

#include "ir/kernel.h"
#include "lower/product/row_statistics.h"
#include "lower/record/lowered.h"
#include "schedule/schedule.h"
#include "support/result.h"

namespace fact::lower::sm90 {

// The problem that a schedule depends on, without extents; an Error says what the sm90 skeletons
// cannot express.
Result<schedule::Problem> problem_of(const ir::Kernel& kernel);

// `statistics`: what the kernel itself computes for its epilogue, or nullptr.
Result<Lowered> lower(const ir::Kernel& kernel, const schedule::Schedule& schedule,
                      const RowStatistics* statistics = nullptr);

}  // namespace fact::lower::sm90
