#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "compose/package.h"
#include "driver/ablate.h"

namespace fact::cli {

namespace {

struct ComposeOptions {
    std::string run, output;
};

int compose(const ComposeOptions& options) {
    const driver::RunFolder run(options.run);
    const std::filesystem::path output =
        options.output.empty() ? run.package().string() : options.output;
    const auto run_lock = run.lock();
    if (!run_lock) return fail(blame_input(run_lock.error()));
    const auto output_lock = compose::lock_output(output);
    if (!output_lock) return fail(blame_input(output_lock.error()));
    if (auto fine = compose::check_output(output); !fine) return fail(blame_input(fine.error()));
    const auto settings = run.settings();
    if (!settings) return fail(settings.error());
    const auto found = driver::read_discovered(run);
    if (!found) return fail(found.error());
    const auto realizations = driver::read_realizations(run, found->discovery);
    if (!realizations) return fail(realizations.error());
    const auto environment = driver::find_environment(settings->arch);
    if (!environment) return fail(environment.error());
    auto plan = driver::plan(*found, *realizations);
    if (auto done =
            driver::ablate_stage(*environment, run, *settings, *found, *realizations, "", plan);
        !done)
        return fail(done.error());
    auto done = driver::compose_stage(run, *settings, *found, *realizations, plan, output);
    if (!done) return fail(done.error());
    if (auto placed = driver::accept(run, *done); !placed) return fail(placed.error());
    for (std::size_t i = 0; i < plan.choices.size(); ++i)
        print(fmt::format("{}: {}\n", found->discovery.patterns[i].id,
                          plan.choices[i].fused ? "fused" : "not fused: " + plan.choices[i].why));
    if (plan.fused() == 0) {
        print(driver::left_as_it_is(output));
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
    command->callback([&action, options] { action = [options] { return compose(*options); }; });
}

}  // namespace fact::cli
