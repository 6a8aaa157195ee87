// `fact bench`; add_bench is declared in cli/commands.h.
#include "driver/bench.h"

#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "package/manifest.h"
#include "support/files.h"

namespace fact::cli {

namespace {

struct BenchOptions {
    driver::BenchRequest request;
    std::string json;
};

// Takes from the package's manifest what the command line does not give.
Result<driver::BenchRequest> complete(driver::BenchRequest request) {
    const auto manifest = package::read_manifest(request.package);
    if (!manifest) return blame_input(manifest.error());
    const auto& origin = manifest->origin;
    if (request.source.empty()) request.source = origin.source;
    if (request.source.empty())
        return Error{"the package does not say which source it was made from",
                     "give it with --source FILE", true};
    // The type that the module was cast to, if any; that of its weights may differ.
    if (request.dtype.empty()) request.dtype = origin.asked_dtype;
    request.allow_tf32 |= origin.allow_tf32;
    request.training |= origin.training;
    return request;
}

int bench(const BenchOptions& options) {
    // Checked before minutes of measuring.
    if (!options.json.empty())
        if (auto fine = file_to_replace(options.json, "{", "a benchmark's result"); !fine)
            return fail(blame_input(fine.error()));
    const auto request = complete(options.request);
    if (!request) return fail(request.error());
    const auto environment = driver::find_environment();
    if (!environment) return fail(environment.error());
    const auto done = driver::bench(*environment, *request);
    if (!done) return fail(done.error());
    if (!environment->gpu) print(fmt::format("not timed: {}\n", environment->why_no_gpu));
    print(report::module_table(done->whole));
    if (!done->note.empty()) print("  " + done->note + "\n");
    if (!options.json.empty())
        if (auto written = write_file_atomic(options.json, done->json); !written)
            return fail(written.error());
    return done->agrees == false ? kFailed : kDone;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
    auto options = std::make_shared<BenchOptions>();
    auto* command = app.add_subcommand("bench", "Time a package against eager and torch.compile");
    command->add_option("PACKAGE", options->request.package, "Package folder")->required();
    command->add_option("--source", options->request.source,
                        "The original module (default: what the package was made from)");
    add_dtype(*command, options->request.dtype);
    add_training(*command, options->request.training);
    add_allow_tf32(*command, options->request.allow_tf32);
    command
        ->add_option(
            "--peers", options->request.peers,
            "Compare also with: default (torch.compile) or all (also max-autotune, with and "
            "without CUDA graphs)")
        ->check(CLI::IsMember({"default", "all"}));
    add_verbose(*command, options->request.verbose);
    command->add_option("--json", options->json, "Also write the times to this file");
    command->callback([&action, options] { action = [options] { return bench(*options); }; });
}

}  // namespace fact::cli
