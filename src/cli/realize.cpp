// `fact realize`; add_realize is declared in cli/commands.h.
#include "driver/realize.h"

#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "report/spelling.h"
#include "support/table.h"

namespace fact::cli {

namespace {

struct RealizeOptions {
    std::string run;
    driver::RealizeRequest request;
};

std::string describe(const driver::Realizations& realizations) {
    Table table({{"family"},
                 {"precision"},
                 {"schedule"},
                 {"candidates"},
                 {"time", Align::right},
                 {"torch", Align::right},
                 {"kernel"}});
    for (const auto& [family, r] : realizations) {
        const bool timed = r.measured && r.single.runs > 0;
        table.row({family, r.precision, report::short_schedule(r.schedule),
                   tune::summary(r.candidates),
                   timed ? duration(r.single.median_us) : "not measured",
                   timed ? duration(r.baseline_single.median_us) : "",
                   r.realized ? (r.folder / "kernel.cu").string() : one_line(r.why)});
    }
    return table.text("");
}

int realize(const RealizeOptions& options) {
    const driver::RunFolder run(options.run);
    const auto lock = run.lock();
    if (!lock) return fail(blame_input(lock.error()));
    const auto settings = run.settings();
    if (!settings) return fail(settings.error());
    const auto environment = driver::find_environment(settings->arch);
    if (!environment) return fail(environment.error());
    const auto found = driver::read_discovered(run);
    if (!found) return fail(found.error());
    const auto done = driver::realize_stage(*environment, run, found->discovery, options.request);
    if (!done) return fail(done.error(), "interrupted; run the same command again to continue");
    print(describe(*done));
    for (const auto& [family, realization] : *done)
        if (!realization.realized) return kFailed;
    return kDone;
}

}  // namespace

void add_realize(CLI::App& app, Action& action) {
    auto options = std::make_shared<RealizeOptions>();
    auto* command = app.add_subcommand("realize", "Write, verify and tune the kernels of a run");
    command->add_option("RUN", options->run, "Run folder of `fact discover -o`")->required();
    auto& request = options->request;
    command->add_option("--pattern", request.only, "Only this pattern or family (repeatable)");
    add_effort(*command, request.effort);
    add_jobs(*command, request.jobs);
    add_registry_use(*command, request.registry, request.retune);
    command->add_option("--also", request.also, "A CUDA file to try in addition to the schedules")
        ->check(CLI::ExistingFile);
    command->callback([&action, options] { action = [options] { return realize(*options); }; });
}

}  // namespace fact::cli
