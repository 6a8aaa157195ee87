// `fact graph`; add_graph is declared in cli/commands.h.
#include <memory>

#include "cli/commands.h"
#include "driver/discover.h"
#include "graph/graph_json.h"
#include "graph/printer.h"
#include "graph/pt2_archive.h"

namespace fact::cli {

namespace {

struct GraphOptions {
    std::string archive;
    bool json = false, raw = false;
};

Result<graph::Graph> read(const GraphOptions& options) {
    if (!options.raw) return driver::read_graph(options.archive);
    auto archive = graph::read_pt2(options.archive);
    if (archive) return std::move(archive->graph);
    return blame_input(archive.error());
}

int show_graph(const GraphOptions& options) {
    const auto graph = read(options);
    if (!graph) return fail(graph.error());
    print(options.json ? graph::to_json(*graph) + "\n" : graph::print(*graph));
    return kDone;
}

}  // namespace

void add_graph(CLI::App& app, Action& action) {
    auto options = std::make_shared<GraphOptions>();
    auto* command = app.add_subcommand("graph", "Show the graph of an archive");
    command->add_option("ARCHIVE", options->archive, "What `fact trace` wrote")->required();
    command->add_flag("--json", options->json, "As JSON");
    command->add_flag("--raw", options->raw, "As exported, not in canonical form");
    command->callback([&action, options] { action = [options] { return show_graph(*options); }; });
}

}  // namespace fact::cli
