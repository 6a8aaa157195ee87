#include "driver/bench.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "support/files.h"

namespace fact::cli {

namespace {

struct Options {
    driver::BenchRequest request;
    std::string json;
};

// What the manifest remembers, where the command line is silent.
Result<driver::BenchRequest> complete(driver::BenchRequest request) {
    const auto text = read_file(request.package / "manifest.json");
    if (!text)
        return Error{request.package.string() + " is not a package: it has no manifest.json",
                     "`fact optimize` writes packages", true};
    const auto manifest = nlohmann::json::parse(*text, nullptr, false);
    if (!manifest.is_object())
        return Error{(request.package / "manifest.json").string() + " is damaged", {}, true};
    if (request.source.empty()) request.source = manifest.value("source", "");
    if (request.source.empty())
        return Error{"the package does not say which source it was made from",
                     "give it with --source FILE", true};
    if (request.dtype.empty()) {
        const auto dtype = manifest.value("dtype", "");
        request.dtype = dtype == "f16" ? "fp16" : dtype == "bf16" ? "bf16" : "";
    }
    request.allow_tf32 |= manifest.value("allow_tf32", false);
    request.training |= manifest.value("training", false);
    return request;
}

int bench(const Options& options) {
    // Before minutes of measuring, not after.
    if (auto fine = file_to_replace(options.json); !fine) return fail(blame_input(fine.error()));
    const auto request = complete(options.request);
    if (!request) return fail(request.error());
    const auto environment = driver::find_environment("sm90a");
    if (!environment) return fail(environment.error());
    const auto done = driver::bench(*environment, *request);
    if (!done) return fail(done.error());
    print(report::module_table(done->whole));
    if (!done->note.empty()) print("  " + done->note + "\n");
    if (!options.json.empty())
        if (auto written = write_file_atomic(options.json, done->json); !written)
            return fail(written.error());
    return done->agrees == false ? kFailed : kDone;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("bench", "Time a package beside eager and torch.compile");
    command->add_option("PACKAGE", options->request.package, "Package folder")->required();
    command->add_option("--source", options->request.source,
                        "The original module (default: what the package was made from)");
    add_dtype(*command, options->request.dtype);
    add_training(*command, options->request.training);
    add_allow_tf32(*command, options->request.allow_tf32);
    command
        ->add_option("--peers", options->request.peers,
                     "Beside eager: default (torch.compile) or all (also max-autotune, with and "
                     "without CUDA graphs)")
        ->check(CLI::IsMember({"default", "all"}));
    add_verbose(*command, options->request.verbose);
    command->add_option("--json", options->json, "Also write the times to this file");
    command->callback([&action, options] { action = [options] { return bench(*options); }; });
}

}  // namespace fact::cli
