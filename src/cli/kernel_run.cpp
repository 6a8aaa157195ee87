// `fact kernel run`; add_kernel_run is declared in cli/kernel_commands.h.
#include <csignal>
#include <memory>

#include "cli/kernel_commands.h"
#include "tools/run.h"

namespace fact::cli {

namespace {

struct KernelRunOptions {
    KernelOptions kernel;
    std::vector<std::string> in, out, expect;
    std::uint64_t seed = 0;
    bool json = false;
};

Result<tools::RunRequest> request_of(const KernelRunOptions& options) {
    tools::RunRequest request;
    auto settings = tools::parse_settings(options.kernel.set);
    if (!settings) return settings.error();
    auto in = tools::parse_files(options.in, "--in");
    if (!in) return in.error();
    auto out = tools::parse_files(options.out, "--out");
    if (!out) return out.error();
    auto expected = tools::parse_files(options.expect, "--expect");
    if (!expected) return expected.error();
    request.expected = std::move(*expected);
    request.settings = std::move(*settings);
    request.inputs = std::move(*in);
    request.outputs = std::move(*out);
    request.seed = options.seed;
    return request;
}

int run(const KernelRunOptions& options) {
    const auto request = request_of(options);
    if (!request) return fail(request.error());
    const auto loaded = load(options.kernel);
    if (!loaded) return fail(loaded.error());
    // Nothing is half-written during the computation, so Ctrl-C may simply end the process.
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    const auto report = tools::run_kernel(*loaded->kernel, *request);
    if (!report) return fail(report.error());
    print(options.json ? tools::to_json(*loaded->kernel, *report)
                       : tools::to_text(*loaded->kernel, *report));
    return report->agrees() ? kDone : kFailed;
}

}  // namespace

void add_kernel_run(CLI::App& app, Action& action) {
    auto options = std::make_shared<KernelRunOptions>();
    auto* command = app.add_subcommand("run", "Compute a kernel on the CPU in f64");
    add_kernel_choice(*command, options->kernel);
    command->add_option("--in", options->in, "A parameter's values: x=file.npy (repeatable)")
        ->expected(1)
        ->take_all();
    command->add_option("--out", options->out, "Where to write an output: y=file.npy (repeatable)")
        ->expected(1)
        ->take_all();
    command
        ->add_option(
            "--expect", options->expect,
            "Expected values of an output: y=file.npy (repeatable); exit code 1 if they differ")
        ->expected(1)
        ->take_all();
    command->add_flag("--json", options->json, "As JSON");
    command->add_option("--seed", options->seed, "Seed of the random tensors")
        ->capture_default_str();
    command->footer(
        "Example:  fact kernel run mlp.fact --set M=128 --in w=weight.npy --out y=y.npy\n"
        "Parameters without a file are random: normal, rounded to their type. An extent that\n"
        "neither a file nor --set gives is 16.");
    command->callback([&action, options] { action = [options] { return run(*options); }; });
}

}  // namespace fact::cli
