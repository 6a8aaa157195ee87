// `fact compose`; add_compose is declared in cli/commands.h.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "driver/compose_run.h"

namespace fact::cli {

namespace {

struct ComposeOptions {
    std::string run, output;
    std::vector<std::string> patterns;
};

int compose(const ComposeOptions& options) {
    const driver::RunFolder run(options.run);
    const std::filesystem::path output =
        options.output.empty() ? run.package().string() : options.output;
    const auto run_lock = run.lock();
    if (!run_lock) return fail(blame_input(run_lock.error()));
    const auto plan = driver::compose_run(run, output, options.patterns);
    if (!plan) return fail(plan.error());
    const auto found = driver::read_discovered(run);
    if (!found) return fail(found.error());
    for (std::size_t i = 0; i < plan->choices.size(); ++i)
        print(fmt::format("{}: {}\n", found->discovery.patterns[i].id,
                          plan->choices[i].fused ? "fused" : "not fused: " + plan->choices[i].why));
    if (plan->fused() == 0) {
        print(driver::note_of_earlier_package(output));
        return fail({"no pattern can be fused, so no package was written",
                     "run `fact realize` first, if it has not been run"});
    }
    print(fmt::format("package: {}\n", output.string()));
    return kDone;
}

}  // namespace

void add_compose(CLI::App& app, Action& action) {
    auto options = std::make_shared<ComposeOptions>();
    auto* command = app.add_subcommand("compose", "Write the package of the kernels that pay");
    command->add_option("RUN", options->run, "Run folder of `fact realize`")->required();
    command->add_option("-o,--output", options->output, "Package folder (default: RUN/package)");
    command
        ->add_option("--patterns", options->patterns,
                     "Exactly these patterns, by their ids in `fact act RUN patterns` (default: "
                     "those that pay)")
        ->delimiter(',');
    command->callback([&action, options] { action = [options] { return compose(*options); }; });
}

}  // namespace fact::cli
