#include "tools/kernel_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/files.h"

namespace fact::tools {
namespace {

// Nothing longer is read; dsl::compile refuses texts of more than 1 MiB.
constexpr std::size_t kMaxBytes = std::size_t{4} << 20;

}  // namespace

Result<KernelSource> read_source(const std::string& path) {
    const bool standard_input = path == "-";
    KernelSource source{standard_input ? "<stdin>" : path, {}};
    auto text = standard_input ? read_standard_input(kMaxBytes) : read_file(path, kMaxBytes);
    if (!text) return blame_input(text.error());
    if (const auto zero = text->find('\0'); zero != text->npos)
        return blame_input(
            {fmt::format("{} is not a kernel text: byte {} is zero", source.name, zero),
             "give a text file in the kernel language"});
    source.text = std::move(*text);
    return source;
}

Error mistakes(const Diagnostics& diagnostics, std::string_view name, std::string_view text) {
    const std::size_t count = diagnostics.items().size();
    std::string shown = render_all(diagnostics, name, text);
    if (shown.ends_with('\n')) shown.pop_back();
    return blame_input(
        {fmt::format("{} has {}:\n{}", name,
                     count == 1 ? "an error" : fmt::format("{} errors", count), shown),
         {}});
}

Result<dsl::Program> compile(const KernelSource& source) {
    Diagnostics diagnostics;
    auto program = dsl::compile(source.text, diagnostics);
    if (!program) return mistakes(diagnostics, source.name, source.text);
    const auto lines = std::make_shared<const ir::SourceText>(source.name, source.text);
    for (auto* kernels : {&program->kernels, &program->pipelines})
        for (ir::Kernel& kernel : *kernels) kernel.source = lines;
    return std::move(*program);
}

Result<const ir::Kernel*> select_kernel(const dsl::Program& program, std::string_view wanted,
                                        std::string_view source_name) {
    std::vector<std::string> names;
    for (const auto* all : {&program.kernels, &program.pipelines})
        for (const ir::Kernel& kernel : *all) names.push_back(kernel.name);
    if (names.empty())
        return blame_input({fmt::format("{} has no kernel", source_name),
                            "write one: kernel f(x: f32[M]) -> (y: f32[M]) { ... }"});
    if (const ir::Kernel* found = program.find(wanted)) return found;
    // The kernels next to a pipeline are mostly its parts.
    if (wanted.empty() && program.pipelines.size() == 1) return &program.pipelines.front();
    if (wanted.empty() && names.size() == 1) return &program.kernels.front();
    if (wanted.empty())
        return blame_input({fmt::format("{} has {} kernels", source_name, names.size()),
                            fmt::format("choose one with --kernel: {}", fmt::join(names, ", "))});
    const std::string near = nearest(wanted, names);
    return blame_input({fmt::format("{} has no kernel '{}'", source_name, wanted),
                        near.empty() ? fmt::format("it has {}", fmt::join(names, ", "))
                                     : fmt::format("did you mean '{}'?", near)});
}

}  // namespace fact::tools
