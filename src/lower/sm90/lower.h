// From a checked kernel and a schedule to CUDA source over the skeletons of kernels/sm90, with the
// record that launches it.
#pragma once

#include <string>

#include "ir/kernel.h"
#include "lower/product/row_statistics.h"
#include "lower/record/lowered.h"
#include "schedule/schedule.h"
#include "support/result.h"

namespace fact::lower::sm90 {

// What a schedule has to know of the kernel's product, extents left at 0; an Error says what the
// sm90 skeletons cannot express.
Result<schedule::Problem> problem_of(const ir::Kernel& kernel);

// `statistics`: what the kernel finds itself for its epilogue to read, or nullptr.
Result<Lowered> lower(const ir::Kernel& kernel, const schedule::Schedule& schedule,
                      const RowStatistics* statistics = nullptr);

}  // namespace fact::lower::sm90
