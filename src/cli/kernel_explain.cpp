#include <memory>

#include "cli/kernel_commands.h"
#include "driver/ceilings.h"
#include "tools/explain.h"

namespace fact::cli {

namespace {

struct KernelExplainOptions {
    KernelOptions kernel;
    std::string gpu = "h200";
};

int explain(const KernelExplainOptions& options) {
    const auto settings = tools::parse_settings(options.kernel.set);
    if (!settings) return fail(settings.error());
    const auto environment = driver::find_environment("sm90a");
    if (!environment) return fail(environment.error());
    const auto ceilings = driver::find_ceilings(*environment, options.gpu, "sm90a");
    if (!ceilings) return fail(ceilings.error());
    const auto loaded = load(options.kernel);
    if (!loaded) return fail(loaded.error());
    const auto extents = tools::bind_extents(*loaded->kernel, *settings, tools::Assume::typical);
    if (!extents) return fail(extents.error());
    print(tools::explain(loaded->program, *loaded->kernel, loaded->source.text, *extents,
                         ceilings->gpu));
    return kDone;
}

}  // namespace

void add_kernel_explain(CLI::App& app, Action& action) {
    auto options = std::make_shared<KernelExplainOptions>();
    auto* command = app.add_subcommand(
        "explain", "Say in words what a kernel computes, its bounds, and how it is scheduled");
    add_kernel_choice(*command, options->kernel);
    command->add_option("--gpu", options->gpu, "For which GPU")->capture_default_str();
    command->footer("Example:  fact kernel explain mlp.fact --set M=8192,N=4096,K=1024");
    command->callback([&action, options] { action = [options] { return explain(*options); }; });
}

}  // namespace fact::cli
