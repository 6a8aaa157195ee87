// A kernel text to CUDA source and on to a cubin.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "jit/compiler.h"
#include "support/result.h"
#include "target/launch_record.h"
#include "tools/choose.h"
#include "tools/kernel_source.h"

namespace fact::tools {

struct Emitted {
    std::string text;    // the one kernel, pipelines inlined
    std::string source;  // headed by the kernel's text
    LaunchRecord record;
};
// `dump_after`, a pass of the compiler, replaces the source by the kernel as that pass leaves it.
Result<Emitted> emit(const ir::Kernel& kernel, const Choice& choice, std::string_view arch,
                     const Extents& extents, std::string_view dump_after = {});

// Writes kernel.fact, kernel.cu, kernel.cubin and record.json into `folder`. What the compiler
// rejects is reported at the line of kernel text it came from, where the emitted file says so.
Result<jit::Artifact> build(const KernelSource& source, const Emitted& emitted,
                            const jit::Toolchain& toolchain, const std::filesystem::path& store,
                            const std::filesystem::path& folder);

}  // namespace fact::tools
