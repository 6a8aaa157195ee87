// From a checked kernel and a schedule to CUDA source with the skeleton of kernels/sm80, and its
// launch record. It runs on any GPU from sm80 on, and needs no alignment.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/kernel.h"
#include "lower/record/lowered.h"
#include "schedule/schedule.h"
#include "support/result.h"

namespace fact::lower::sm80 {

struct Options {
    std::string arch = "sm80";  // the GPU the cubin is compiled for: "sm90a" on a Hopper
    // Bytes that divide the address, the row's length and every stride but the contiguous one, of
    // each parameter, then of each output; missing: 16. Wide copies need wide alignment.
    std::vector<int> alignment = {};
};

// The problem that a schedule depends on, without extents; an Error says what the skeleton cannot
// express.
Result<schedule::Problem> problem_of(const ir::Kernel& kernel, const Options& options = {});

Result<Lowered> lower(const ir::Kernel& kernel, const schedule::Schedule& schedule,
                      const Options& options = {});

}  // namespace fact::lower::sm80
