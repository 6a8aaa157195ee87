// Stage 2: the archive's graph, and the patterns in it.
#pragma once

#include <filesystem>

#include "driver/environment.h"
#include "driver/learned_rules.h"
#include "driver/run_folder.h"
#include "graph/graph.h"
#include "match/patterns/pattern.h"
#include "support/result.h"
#include "target/torch_precision.h"

namespace fact::driver {

// The archive's graph in canonical form. An unreadable archive is the user's mistake.
Result<graph::Graph> read_graph(const std::filesystem::path& archive);

struct Discovered {
    graph::Graph graph;  // canonical
    match::Discovery discovery;
};

// Finds the patterns; with a run folder, also by learned rules and those accepted there before, and
// writes discovery.json and calls/<id>.json. Without `rules` nothing is found by the built-in ones.
Result<Discovered> discover(const std::filesystem::path& archive, const match::Options& options);
Result<Discovered> discover_stage(const RunFolder& run, const match::Options& options,
                                  const std::vector<StoredRule>& learned = {}, bool rules = true);

// The torch settings that the archive's module was traced under, torch's defaults where it says
// nothing; with `allow_tf32` products and convolutions may use TF32 whatever it says.
Result<TorchPrecision> precision_of(const std::filesystem::path& archive, bool allow_tf32);

// What an earlier discover_stage wrote.
Result<Discovered> read_discovered(const RunFolder& run);

// nullptr where none has this id.
const match::Pattern* find_pattern(const match::Discovery& discovery, const std::string& id);
// What to say then, with the nearest name.
Error no_such_pattern(const match::Discovery& discovery, const std::string& id);

// The module's own floating dtype ("f32"), as its parameters or else its inputs have it.
std::string module_dtype(const graph::Graph& graph);

}  // namespace fact::driver
