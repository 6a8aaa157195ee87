// Kernel texts as the tools get them: a file or standard input, compiled, one kernel picked.
#pragma once

#include <string>
#include <string_view>

#include "dsl/dsl.h"
#include "support/result.h"

namespace fact::tools {

struct KernelSource {
    std::string name;  // for messages: the path, or "<stdin>"
    std::string text;
};

// `path` "-" is standard input. Refuses folders, huge files and binary files.
Result<KernelSource> read_source(const std::string& path);

// The kernels keep the text, so that later errors can name its lines.
Result<dsl::Program> compile(const KernelSource& source);
// The Error that shows every mistake in a text with a caret.
Error mistakes(const Diagnostics& diagnostics, std::string_view name, std::string_view text);

// The kernel or pipeline called `wanted`; if that is "", the only pipeline or the only kernel. The
// program owns it.
Result<const ir::Kernel*> select_kernel(const dsl::Program& program, std::string_view wanted,
                                        std::string_view source_name);

}  // namespace fact::tools
