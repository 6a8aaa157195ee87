#include "torch/kernel_files.h"

#include <fmt/format.h>

#include "dsl/dsl.h"
#include "support/files.h"

namespace fact::exec {

namespace fs = std::filesystem;

Result<graph::FusedCall> read_call(const fs::path& path) {
    const auto text = read_file(path);
    if (!text) return text.error();
    auto call = graph::fused_call_from_json(*text);
    if (!call)
        return Error{fmt::format("{}: {}", path.string(), call.error().message), call.error().hint};
    return call;
}

Result<ir::Kernel> read_kernel_text(const fs::path& path) {
    const auto text = read_file(path);
    if (!text) return text.error();
    Diagnostics diagnostics;
    auto program = dsl::compile(*text, diagnostics);
    if (!program) return Error{render_all(diagnostics, path.string(), *text), {}};
    if (program->kernels.size() != 1)
        return Error{fmt::format("{} holds {} kernels instead of one", path.string(),
                                 program->kernels.size()),
                     {}};
    return std::move(program->kernels[0]);
}

Compiled read_compiled(const fs::path& cubin, const fs::path& record) {
    auto kernel = DeviceKernels::read(cubin, record);
    if (!kernel) return {nullptr, kernel.error().text()};
    return {std::move(*kernel), {}};
}

Result<gpu::Kernel> load_compiled(const fs::path& cubin, const fs::path& record) {
    const auto code = read_file(cubin);
    if (!code) return code.error();
    const auto text = read_file(record);
    if (!text) return text.error();
    auto parsed = launch_record_from_json(*text);
    if (!parsed) return parsed.error();
    return gpu::Kernel::load(*code, std::move(*parsed));
}

}  // namespace fact::exec
