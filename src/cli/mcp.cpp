// `fact mcp`; add_mcp is declared in cli/commands.h.
#include <filesystem>

#include "cli/commands.h"
#include "driver/environment.h"
#include "support/become.h"

namespace fact::cli {

namespace {

int mcp() {
    const auto environment = driver::find_environment();
    if (!environment) return fail(environment.error());
    auto server = driver::python_module(*environment, "fact.mcp_server", {});
    // The server runs this program for every request.
    std::error_code unknown;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", unknown);
    if (!unknown) server.environment.emplace_back("FACT_PROGRAM", program.string());
    // Standard output belongs to the protocol: this process must not stand between client and
    // server.
    return fail(become(server));
}

}  // namespace

void add_mcp(CLI::App& app, Action& action) {
    auto* command = app.add_subcommand(
        "mcp",
        "Serve the actions, and whole runs, to a coding agent: MCP on standard input and output");
    command->footer(
        "Needs the Python package of the protocol: pip install mcp\n"
        "docs/agents.md says how to register it with a coding agent.");
    command->callback([&action] { action = [] { return mcp(); }; });
}

}  // namespace fact::cli
