// `fact optimize`; add_optimize and run_optimize are declared in cli/commands.h.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <memory>

#include "cli/commands.h"
#include "driver/pipeline.h"

namespace fact::cli {

namespace {

struct OptimizeOptions {
    driver::OptimizeRequest request;
    std::string output, run_dir, price, writes = "language", bounds = "on";
    bool json = false;
};

// The price in "2.5,10": dollars per million tokens of prompts, and of answers.
Result<report::AgentPrice> price_of(const std::string& text) {
    report::AgentPrice price;
    const char* at = text.data();
    const char* const end = at + text.size();
    for (double* dollars : {&price.in, &price.out}) {
        const auto [stop, failure] = std::from_chars(at, end, *dollars);
        const bool last = dollars == &price.out;
        if (failure != std::errc() || !std::isfinite(*dollars) || *dollars < 0 ||
            (last ? stop != end : stop == end || *stop != ','))
            return Error{
                fmt::format("--agent-price {} is not a price", text),
                "give two numbers, such as 2.5,10: dollars per million tokens of prompts and "
                "of answers",
                true};
        at = stop + 1;
    }
    return price;
}

int optimize(const OptimizeOptions& options) {
    auto request = options.request;
    if (!options.output.empty()) request.output = options.output;
    if (!options.run_dir.empty()) request.run_dir = options.run_dir;
    request.agent.cuda = options.writes == "cuda";
    request.agent.bounds = options.bounds == "on";
    if (!options.price.empty()) {
        const auto price = price_of(options.price);
        if (!price) return fail(price.error());
        request.agent.price = *price;
    }
    return run_optimize(request, options.json);
}

}  // namespace

int run_optimize(const driver::OptimizeRequest& request, bool json) {
    const auto done = driver::optimize(request);
    if (!done) return fail(done.error(), "interrupted; run the same command again to continue");
    print(json ? report::to_json(*done) : fmt::format("\n{}", report::to_text(*done)));
    if (!done->failed) return kDone;
    std::fflush(stdout);
    fmt::print(stderr, "error: {}", done->no_package);
    return kFailed;
}

void add_optimize(CLI::App& app, Action& action) {
    auto options = std::make_shared<OptimizeOptions>();
    auto& request = options->request;
    auto* command = app.add_subcommand("optimize", "Make a module faster: all stages in order");
    command->add_option("SOURCE", request.settings.source, "FILE.py or package.module:factory")
        ->required();
    add_dtype(*command, request.settings.dtype);
    add_training(*command, request.settings.training);
    add_without_weights(*command, request.settings.without_weights);
    add_allow_tf32(*command, request.settings.allow_tf32);
    command->add_option("-o,--output", options->output,
                        "Package folder to write (default: package/ in the run folder)");
    command->add_option("--run-dir", options->run_dir,
                        "Folder for the files of the run (default: .fact/runs/NAME-HASH)");
    add_arch(*command, request.settings.arch);
    add_effort(*command, request.effort);
    add_jobs(*command, request.jobs);
    command->add_option("--also", request.also, "A CUDA file to try in addition to the schedules")
        ->check(CLI::ExistingFile)
        ->group("Advanced");
    add_registry_use(*command, request.registry, request.retune);
    command
        ->add_flag("!--no-shipped-rules", request.shipped_rules,
                   "Do not look for the learned rules that come with FACT")
        ->group("Advanced");
    command->add_flag("!--no-bench", request.bench, "Do not time the whole module");
    command
        ->add_option(
            "--agent", request.agent.provider,
            "Who looks for more than the rules find: nobody (rules), openai:MODEL (any server "
            "with that API: OPENAI_BASE_URL), anthropic:MODEL, command:PROGRAM (the "
            "prompt on its standard input, the answer on its standard output), or "
            "replay:FILE")
        ->capture_default_str()
        ->group("A language model");
    command->add_option("--agent-calls", request.agent.calls, "Maximum number of questions")
        ->capture_default_str()
        ->check(is_positive())
        ->group("A language model");
    command
        ->add_option("--agent-tokens", request.agent.tokens, "Maximum number of tokens, in and out")
        ->capture_default_str()
        ->check(is_positive())
        ->group("A language model");
    command->add_option("--agent-time", request.agent.seconds, "Maximum time in seconds")
        ->capture_default_str()
        ->check(is_positive())
        ->group("A language model");
    command
        ->add_option("--agent-price", options->price,
                     "Dollars per million tokens of prompts and of answers, such as 2.5,10: the "
                     "report then says what the model cost")
        ->group("A language model");
    command
        ->add_option(
            "--agent-writes", options->writes,
            "What the model writes: the kernel language or, for comparison, CUDA. Unsafe: such "
            "kernels are compiled and run as they are, in a separate process")
        ->capture_default_str()
        ->check(CLI::IsMember({"language", "cuda"}))
        ->group("A language model");
    command->add_option("--agent-bounds", options->bounds, "Whether the model is told the bounds")
        ->capture_default_str()
        ->check(CLI::IsMember({"on", "off"}))
        ->group("A language model");
    command
        ->add_flag("--agent-alone", request.agent.alone,
                   "Use no rules, for comparison: the model gets the whole graph")
        ->group("A language model");
    add_verbose(*command, request.verbose);
    command->add_flag("--json", options->json, "The report as JSON");
    command->callback([&action, options] { action = [options] { return optimize(*options); }; });
}

}  // namespace fact::cli
