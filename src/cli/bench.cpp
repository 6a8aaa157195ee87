// `fact bench`; add_bench is declared in cli/commands.h.
#include "driver/bench.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "package/manifest.h"
#include "support/files.h"
#include "support/json_fields.h"

namespace fact::cli {

namespace {

struct BenchOptions {
    driver::BenchRequest request;
    std::string json;
};

std::string text_of(const nlohmann::json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

bool is_true(const nlohmann::json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && *found == true;
}

// Takes from the package's manifest what the command line does not give.
Result<driver::BenchRequest> complete(driver::BenchRequest request) {
    if (auto fine = package::read_manifest(request.package); !fine)
        return blame_input(fine.error());
    const auto text = read_file(request.package / package::kManifestFile);
    if (!text) return text.error();
    const auto manifest = try_parse_json(*text).value_or(nlohmann::json());
    if (request.source.empty()) request.source = text_of(manifest, "source");
    if (request.source.empty())
        return Error{"the package does not say which source it was made from",
                     "give it with --source FILE", true};
    // The type that the module was cast to, if any; that of its weights may differ.
    if (request.dtype.empty()) request.dtype = text_of(manifest, "asked_dtype");
    request.allow_tf32 |= is_true(manifest, "allow_tf32");
    request.training |= is_true(manifest, "training");
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
