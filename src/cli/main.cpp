// The program `fact`: parses the command line and runs one subcommand.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <optional>

#include "cli/commands.h"
#include "support/diagnostics.h"
#include "support/subprocess.h"

namespace {

// The Error for the first word that is not a command, if there is one.
std::optional<fact::Error> unknown_command(const CLI::App& app, int argc, char** argv) {
    const CLI::App* group = &app;  // the commands that the word should be one of
    std::string before = "fact";
    for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
        const std::string word = argv[i];
        std::vector<std::string> commands;
        const CLI::App* found = nullptr;
        for (const auto* command : group->get_subcommands({})) {
            commands.push_back(command->get_name());
            if (command->get_name() == word) found = command;
        }
        if (commands.empty()) break;
        if (found) {
            group = found;
            before += " " + word;
            continue;
        }
        if (i == 1) commands.push_back("test");  // the launcher's own command
        const auto near = fact::nearest(word, commands);
        const auto help = fmt::format("see `{} --help`", before);
        return fact::Error{
            // Without the "fact " that it begins with.
            fmt::format("there is no command '{}'", (before + " " + word).substr(5)),
            near.empty() ? help : fmt::format("did you mean `{} {}`? {}", before, near, help),
            true};
    }
    return std::nullopt;
}

// Whether --json asks for the output as JSON: it is a flag in all commands but `fact bench`, where
// it names a file.
bool asks_for_json(int argc, char** argv) {
    return argc > 1 && std::string_view(argv[1]) != "bench" &&
           std::any_of(argv + 1, argv + argc,
                       [](const char* word) { return std::string_view(word) == "--json"; });
}

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
                           add_compose, add_bench, add_export, add_sol, add_calibrate, add_runs,
                           add_act, add_mcp, add_registry, add_examples, add_kernel, add_version})
        add(app, action);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) return app.exit(error);
        if (auto unknown = unknown_command(app, argc, argv)) return fail(*unknown);
        return fail({error.what(), "see `fact --help`, or `fact COMMAND --help`", true});
    }
    return action();
}

}  // namespace

int main(int argc, char** argv) {
    fact::install_interrupt_handler();
    if (asks_for_json(argc, argv)) fact::cli::answer_failures_in_json();
    try {
        return fact::cli::finish(run(argc, argv));
    } catch (const fact::InternalError& error) {
        return fact::cli::fail({fmt::format("internal error: {}", error.what()),
                                "this is a bug in FACT: please report it"});
    } catch (const std::exception& error) {
        return fact::cli::fail({error.what(), {}});
    }
}
