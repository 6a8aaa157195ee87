#include <fmt/format.h>

#include <memory>

#include "cli/kernel_commands.h"
#include "tools/check.h"

namespace fact::cli {

namespace {

struct KernelCheckOptions {
    std::string file;
    bool json = false;
};

std::string counted(std::size_t count, std::string_view what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

int check(const KernelCheckOptions& options) {
    const auto source = tools::read_source(options.file);
    if (!source) return fail(source.error());
    const auto [program, found] = tools::check(*source);
    const std::size_t count = found.items().size();
    if (options.json)
        print(render_json(found, source->name, source->text) + "\n");
    else if (count > 0)
        print(render_all(found, source->name, source->text) + counted(count, "error") + "\n");
    else if (program)
        print(fmt::format(
            "{}: {}{}: no errors\n", source->name, counted(program->kernels.size(), "kernel"),
            program->pipelines.empty() ? ""
                                       : ", " + counted(program->pipelines.size(), "pipeline")));
    return found.ok() && program ? kDone : kBadInput;
}

}  // namespace

void add_kernel_check(CLI::App& app, Action& action) {
    auto options = std::make_shared<KernelCheckOptions>();
    auto* command = app.add_subcommand("check", "Say what is wrong in a kernel text");
    add_kernel_file(*command, options->file);
    command->add_flag("--json", options->json,
                      "As a JSON array: code, severity, place, message, fix");
    command->footer("Example:  fact kernel check mlp.fact\nExit code 2 when there are errors.");
    command->callback([&action, options] { action = [options] { return check(*options); }; });
}

}  // namespace fact::cli
