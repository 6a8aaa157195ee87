// The least time of a graph, as tables and as JSON.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "match/patterns/pattern.h"
#include "sol/graph_bound.h"

namespace fact::report {

// A row of a table: an operator, a group of equal operators, or a pattern.
struct BoundRow {
    std::string where;   // "model.py:41, blocks.0.mlp"
    std::string what;    // the pattern's id, or the operator
    std::string family;  // "linear", "pointwise"
    int count = 1;       // operators in the group or in the pattern
    double flops = 0, bytes = 0, hard_us = 0, calibrated_us = 0, unfused_us = 0;  // totals
    bool only_bytes = false;  // the bound is by bytes alone: the operator's flops are not known
    bool counted = true;      // of a pattern: whether it is part of the whole graph's fused bound

    // The unfused time as a multiple of the bound; 0 if there is nothing to do.
    double headroom() const { return calibrated_us > 0 ? unfused_us / calibrated_us : 0; }
};

struct SpeedOfLight {
    std::string source;                // the module or archive that was asked about
    std::string dtype, gpu, ceilings;  // "bf16", "h200", the source of its calibrated ceilings
    Tf32 tf32 = {};
    int operators = 0, views = 0;  // of the graph; those of them that move and compute nothing
    std::vector<BoundRow> patterns, nodes;
    sol::GraphBound whole;

    // Over the operators one by one, by the bounds: of the patterns, and of one ideal program.
    double fused_speedup() const;
    double best_speedup() const;
};

// In `nodes`, equal operators are one row, and views are left out.
SpeedOfLight speed_of_light(const graph::Graph& graph, const match::Discovery& discovery, Tf32 tf32,
                            const GpuSpec& gpu);

std::string to_text(const SpeedOfLight& light, bool with_nodes);
std::string to_json(const SpeedOfLight& light, bool with_nodes);

// The table of GPUs; `sources` says for each where its ceilings come from.
std::string gpu_table_text(const std::vector<GpuSpec>& gpus,
                           const std::vector<std::string>& sources);

}  // namespace fact::report
