// Turns a kernel text into CUDA source and into a cubin.
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
    std::string text;    // the kernel in the language, with pipelines inlined
    std::string source;  // CUDA; begins with `text` as a comment
    LaunchRecord record;
};
// With `dump_after`, the name of a pass, the source is the kernel after that pass instead.
Result<Emitted> emit(const ir::Kernel& kernel, const Choice& choice, std::string_view arch,
                     const Extents& extents, std::string_view dump_after = {});

// Writes kernel.fact, kernel.cu, kernel.cubin and record.json into `folder`. Errors of the compiler
// are reported at the line of the kernel text they come from, if the emitted file says so.
Result<jit::Artifact> build(const KernelSource& source, const Emitted& emitted,
                            const jit::Toolchain& toolchain, const std::filesystem::path& store,
                            const std::filesystem::path& folder);

}  // namespace fact::tools
