#include "tools/check.h"

#include <set>

#include "dsl/codes.h"
#include "target/arch.h"
#include "tools/build.h"
#include "tools/choose.h"

namespace fact::tools {
namespace {

const dsl::ScheduleBlock* block_of(const dsl::Program& program, const ir::Kernel& kernel,
                                   std::string_view arch) {
    for (const dsl::ScheduleBlock& block : program.schedules)
        if (block.kernel == kernel.name && block.arch == arch) return &block;
    return nullptr;
}

void report(const Error& error, dsl::code::Code code, Span at, Diagnostics& diagnostics) {
    const bool has_period = error.message.ends_with('.');
    diagnostics.error(
        code, at, has_period ? error.message : error.message + ".",
        error.hint.empty() ? "Write it in parts, as kernels of a pipeline." : error.hint);
}

// Reports why the kernel cannot be emitted for the default architecture or for one that it has
// schedules for.
void check_lowering(const dsl::Program& program, const ir::Kernel& kernel,
                    Diagnostics& diagnostics) {
    const auto extents = bind_extents(kernel, {}, Assume::typical);
    if (!extents) return report(extents.error(), dsl::code::no_kernel, kernel.span, diagnostics);
    std::set<std::string> archs{std::string(kDefaultArch)};
    for (const dsl::ScheduleBlock& block : program.schedules)
        if (block.kernel == kernel.name) archs.insert(block.arch);
    for (const std::string& arch : archs) {
        const auto lowered = emit(kernel, {}, arch, *extents);
        if (!lowered)
            return report(lowered.error(), dsl::code::no_kernel, kernel.span, diagnostics);
        const dsl::ScheduleBlock* block = block_of(program, kernel, arch);
        if (!block) continue;
        auto choice = choose_schedules(program, kernel, arch, *extents);
        if (!choice)
            report(choice.error(), dsl::code::illegal_schedule, block->span, diagnostics);
        else if (const auto scheduled = emit(kernel, *choice, arch, *extents); !scheduled)
            report(scheduled.error(), dsl::code::illegal_schedule, block->span, diagnostics);
    }
}

}  // namespace

Checked check(const KernelSource& source) {
    Checked checked;
    checked.program = dsl::compile(source.text, checked.diagnostics);
    if (!checked.program) return checked;
    for (const auto* kernels : {&checked.program->kernels, &checked.program->pipelines})
        for (const ir::Kernel& kernel : *kernels)
            check_lowering(*checked.program, kernel, checked.diagnostics);
    if (!checked.diagnostics.ok()) checked.program.reset();
    return checked;
}

}  // namespace fact::tools
