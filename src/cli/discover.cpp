// `fact discover`; add_discover is declared in cli/commands.h.
#include "driver/discover.h"

#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "driver/ceilings.h"
#include "driver/environment.h"
#include "match/patterns/printer.h"
#include "support/files.h"

namespace fact::cli {

namespace fs = std::filesystem;

namespace {

struct DiscoverOptions {
    std::string archive, run;
    driver::Settings settings;
    bool json = false;
};

// Copies the archive into the run folder and writes its run.json.
Result<> prepare(const DiscoverOptions& options, const driver::RunFolder& run) {
    std::error_code error;
    if (!fs::equivalent(options.archive, run.archive(), error)) {
        fs::remove(run.archive(), error);
        fs::copy_file(options.archive, run.archive(), error);
        if (error)
            return Error{fmt::format("cannot copy {}: {}", options.archive, error.message()), {}};
    }
    return run.remember(options.settings);
}

struct Found {
    match::Discovery discovery;
    std::string bounds_line;  // which GPU the bounds are for, and where its ceilings come from
};

Result<Found> find(const DiscoverOptions& options) {
    const auto& settings = options.settings;
    const auto environment = driver::find_environment(settings.arch);
    if (!environment) return environment.error();
    const auto ceilings = driver::find_ceilings(*environment, /*gpu=*/"", settings.arch);
    if (!ceilings) return ceilings.error();
    const auto precision = driver::precision_of(options.archive, settings.allow_tf32);
    if (!precision) return precision.error();
    const auto match_options = driver::match_options(*ceilings, settings.arch, precision->tf32);
    const auto learned = driver::learned_rules(environment->registry);
    // Before anything is written: a bad archive leaves no run folder.
    auto found = driver::discover(options.archive, match_options);
    if (!found) return found.error();
    driver::add_learned(learned, found->graph, match_options, found->discovery);
    if (!options.run.empty()) {
        const driver::RunFolder run(options.run);
        if (auto fine = ensure_writable_folder(run.path()); !fine) return blame_input(fine.error());
        const auto lock = run.lock();
        if (!lock) return blame_input(lock.error());
        if (auto done = prepare(options, run); !done) return done.error();
        found = driver::discover_stage(run, match_options, learned);
        if (!found) return found.error();
    }
    return Found{std::move(found->discovery),
                 fmt::format("bounds of {}: ceilings {}", ceilings->gpu.name, ceilings->source)};
}

int discover(const DiscoverOptions& options) {
    const auto found = find(options);
    if (!found) return fail(found.error());
    print(options.json
              ? match::to_json(found->discovery) + "\n"
              : fmt::format("{}\n{}\n", match::print(found->discovery), found->bounds_line));
    return kDone;
}

}  // namespace

void add_discover(CLI::App& app, Action& action) {
    auto options = std::make_shared<DiscoverOptions>();
    auto* command = app.add_subcommand("discover", "Find the parts of a graph worth fusing");
    command->add_option("ARCHIVE", options->archive, "What `fact trace` wrote")->required();
    add_arch(*command, options->settings.arch);
    add_allow_tf32(*command, options->settings.allow_tf32);
    command->add_option("-o,--output", options->run, "Run folder to write, for `fact realize`");
    command->add_flag("--json", options->json, "As JSON");
    command->callback([&action, options] { action = [options] { return discover(*options); }; });
}

}  // namespace fact::cli
