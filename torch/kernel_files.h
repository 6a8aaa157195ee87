// Reads the files in which a run or a package keeps its kernels.
#pragma once

#include <filesystem>

#include "torch/fused_kernel.h"

namespace fact::exec {

Result<graph::FusedCall> read_call(const std::filesystem::path& path);

// The one kernel of a kernel text; mistakes in the text are rendered into the Error.
Result<ir::Kernel> read_kernel_text(const std::filesystem::path& path);

// A cubin with its record, for any GPU; if they cannot be read, why_not says why. Touches no GPU: a
// process that has not used one yet may still fork.
Compiled read_compiled(const std::filesystem::path& cubin, const std::filesystem::path& record);

// Loads a cubin with its record onto the current GPU, to be unloaded with the kernel.
Result<gpu::Kernel> load_compiled(const std::filesystem::path& cubin,
                                  const std::filesystem::path& record);

}  // namespace fact::exec
