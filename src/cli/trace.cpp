// `fact trace`; add_trace is declared in cli/commands.h.
#include "driver/trace.h"

#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "support/files.h"

namespace fact::cli {

namespace {

struct TraceOptions {
    driver::TraceRequest request;
    std::string output = "model.pt2";
};

int trace(const TraceOptions& options) {
    // Archives are zip files, which begin with "PK"; no other file is overwritten.
    if (auto fine = file_to_replace(options.output, "PK", "an archive"); !fine)
        return fail(blame_input(fine.error()));
    const auto environment = driver::find_environment();
    if (!environment) return fail(environment.error());
    const auto done = driver::trace(*environment, options.request, options.output, {});
    if (!done) return fail(done.error());
    print(fmt::format("wrote {}\n", options.output));
    return kDone;
}

}  // namespace

void add_trace(CLI::App& app, Action& action) {
    auto options = std::make_shared<TraceOptions>();
    auto* command = app.add_subcommand("trace", "Export a module to an archive");
    command->add_option("SOURCE", options->request.source, "FILE.py or package.module:factory")
        ->required();
    command->add_option("-o,--output", options->output, "Archive to write")->capture_default_str();
    command->add_option("--device", options->request.device, "Device on which to export")
        ->capture_default_str();
    add_dtype(*command, options->request.dtype);
    add_training(*command, options->request.training);
    add_without_weights(*command, options->request.without_weights);
    add_verbose(*command, options->request.verbose);
    command->callback([&action, options] { action = [options] { return trace(*options); }; });
}

}  // namespace fact::cli
