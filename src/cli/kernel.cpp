// `fact kernel`, and what its subcommands share; add_kernel is declared in cli/commands.h.
#include "cli/kernel_commands.h"

namespace fact::cli {

void add_kernel(CLI::App& app, Action& action) {
    auto* command = app.add_subcommand("kernel", "Tools for texts in the kernel language");
    command->require_subcommand(1);
    command->footer(
        "FILE is a text in the kernel language; - is standard input.\n"
        "Example:  fact kernel explain mlp.fact --set M=4096,N=4096,K=1024");
    for (const auto add : {add_kernel_check, add_kernel_fmt, add_kernel_run, add_kernel_emit,
                           add_kernel_build, add_kernel_explain, add_kernel_schedules})
        add(*command, action);
}

void add_kernel_file(CLI::App& app, std::string& file) {
    app.add_option("FILE", file, "The kernel text; - is standard input")->required();
}

void add_kernel_choice(CLI::App& app, KernelOptions& options) {
    add_kernel_file(app, options.file);
    app.add_option("--kernel", options.kernel, "Which kernel, if the text has several");
    app.add_option("--set", options.set, "Extents of dimensions, such as M=128,N=64 (repeatable)")
        ->delimiter(',')
        ->expected(1)
        ->take_all();
}

Result<Loaded> load(const KernelOptions& options) {
    auto source = tools::read_source(options.file);
    if (!source) return source.error();
    auto program = tools::compile(*source);
    if (!program) return program.error();
    Loaded loaded{std::move(*source), std::move(*program), nullptr};
    const auto kernel = tools::select_kernel(loaded.program, options.kernel, loaded.source.name);
    if (!kernel) return kernel.error();
    loaded.kernel = *kernel;
    return loaded;
}

void add_emit_options(CLI::App& app, EmitOptions& options) {
    add_kernel_choice(app, options.kernel);
    add_arch(app, options.arch);
    app.add_option("--schedule", options.schedule,
                   "Schedule entries to use instead of the text's, such as \"tile 128x128x64\"");
    app.add_flag("--json", options.json, "As JSON");
    app.add_flag("!--no-tma", options.tma,
                 "Only skeletons without tensor maps, as for an A100, on any GPU");
}

}  // namespace fact::cli
