// Describes how a kernel runs: the kernels it is cut into, and for each product its schedules, with
// their expected times, or why they are not legal.
#pragma once

#include <string>

#include "dsl/dsl.h"
#include "target/gpu_spec.h"
#include "tools/extents.h"

namespace fact::tools {

std::string explain_schedules(const dsl::Program& program, const ir::Kernel& kernel,
                              const Extents& extents, const GpuSpec& gpu);

}  // namespace fact::tools
