// Describes a kernel in plain words: what it computes and moves, its bounds, its schedules.
#pragma once

#include <string>
#include <string_view>

#include "dsl/dsl.h"
#include "target/gpu_spec.h"
#include "tools/extents.h"

namespace fact::tools {

// `text` is what the program was compiled from.
std::string explain(const dsl::Program& program, const ir::Kernel& kernel, std::string_view text,
                    const Extents& extents, const GpuSpec& gpu);

}  // namespace fact::tools
