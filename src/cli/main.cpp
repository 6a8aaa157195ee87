#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "cli/commands.h"
#include "support/subprocess.h"

namespace {

int run(int argc, char** argv) {
    using namespace fact::cli;
    CLI::App app(
        "FACT: a PyTorch module in, the same module with its matrix products fused into tuned\n"
        "CUTLASS kernels out.",
        "fact");
    app.footer(
        "Start with:  ./fact optimize examples/minigpt_block.py\n"
        "Tests:       ./fact test\n"
        "Exit codes:  0 done, 1 the run failed, 2 the input was bad, 130 interrupted");
    app.require_subcommand(1);
    Action action;
    for (const auto add : {add_optimize, add_trace, add_graph, add_discover, add_realize,
                           add_compose, add_bench, add_version})
        add(app, action);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) return app.exit(error);
        return fail({error.what(), "see `fact --help`, or `fact COMMAND --help`", true});
    }
    return action();
}

}  // namespace

int main(int argc, char** argv) {
    fact::install_interrupt_handler();
    try {
        return run(argc, argv);
    } catch (const fact::InternalError& error) {
        fmt::print(stderr, "internal error: {}\n  This is a bug in FACT: please report it.\n",
                   error.what());
    } catch (const std::exception& error) {
        return fact::cli::fail({error.what(), {}});
    }
    return fact::cli::kFailed;
}
