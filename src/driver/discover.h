// The stage discover: the archive's graph, and the patterns in it.
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

// Finds patterns by the built-in rules.
Result<Discovered> discover(const std::filesystem::path& archive, const match::Options& options);
// Finds patterns by the built-in rules (if `rules`) and the learned ones, adds those accepted in
// this run folder before, and writes discovery.json and each pattern's call (calls/<id>.json).
Result<Discovered> discover_stage(const RunFolder& run, const match::Options& options,
                                  const std::vector<StoredRule>& learned = {}, bool rules = true);

// The torch settings under which the module was traced, torch's defaults if the archive does not
// say; with `allow_tf32` products and convolutions may use TF32 in any case.
Result<TorchPrecision> precision_of(const std::filesystem::path& archive, bool allow_tf32);

// What an earlier discover_stage wrote.
Result<Discovered> read_discovered(const RunFolder& run);

// nullptr if none has this id.
const match::Pattern* find_pattern(const match::Discovery& discovery, const std::string& id);
// The Error for that case; it suggests the nearest id.
Error no_such_pattern(const match::Discovery& discovery, const std::string& id);

// The module's floating dtype ("f32"): that of its parameters, or else of its inputs.
std::string module_dtype(const graph::Graph& graph);

}  // namespace fact::driver
