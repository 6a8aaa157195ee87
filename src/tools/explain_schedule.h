// How a kernel runs, in words: the kernels it is cut into, and for each product its schedules,
// legal or why not, and what each comes to.
#pragma once

#include <string>

#include "dsl/dsl.h"
#include "target/gpu_spec.h"
#include "tools/extents.h"

namespace fact::tools {

std::string explain_schedules(const dsl::Program& program, const ir::Kernel& kernel,
                              const Extents& extents, const GpuSpec& gpu);

}  // namespace fact::tools
