// Kernel texts as the tools get them: a file or standard input, compiled, one kernel picked.
#pragma once

#include <string>
#include <string_view>

#include "dsl/dsl.h"
#include "support/result.h"

namespace fact::tools {

struct KernelSource {
    std::string name;  // in messages
    std::string text;
};

// `path` "-" is standard input. Refuses folders, huge files and binary files.
Result<KernelSource> read_source(const std::string& path);

// An Error shows every mistake with a caret. The kernels know their lines in the text.
Result<dsl::Program> compile(const KernelSource& source);
Error mistakes(const Diagnostics& diagnostics, std::string_view name, std::string_view text);

// The kernel or pipeline called `wanted`; if that is "", the only pipeline or the only kernel. The
// program owns it.
Result<const ir::Kernel*> select_kernel(const dsl::Program& program, std::string_view wanted,
                                        std::string_view source_name);

}  // namespace fact::tools
