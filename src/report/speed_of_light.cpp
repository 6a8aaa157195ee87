#include "report/speed_of_light.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "graph/identity.h"
#include "support/table.h"

namespace fact::report {

namespace {

using nlohmann::ordered_json;

std::map<std::string, graph::NodeId> ids_by_name(const graph::Graph& graph) {
    std::map<std::string, graph::NodeId> ids;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
        ids[graph.nodes[i].name] = static_cast<graph::NodeId>(i);
    return ids;
}

sol::Part part_of(const match::Pattern& pattern, const std::map<std::string, graph::NodeId>& ids) {
    sol::Part part;
    for (const std::string& name : pattern.nodes) part.nodes.push_back(ids.at(name));
    part.bound = {pattern.cost.hard_us, pattern.cost.bound_us};
    part.product_flops = pattern.cost.product_flops;
    return part;
}

std::string operator_name(const graph::Node& node) {
    const auto name = graph::aten_name(node.target);
    return name.empty() ? node.target : std::string(name);
}

BoundRow row_of(const graph::Node& node, const sol::NodeBound& bound) {
    BoundRow row;
    row.where = graph::describe(node.where);
    row.what = operator_name(node);
    row.family = graph::name(bound.work.kind);
    row.flops = bound.work.flops;
    row.bytes = bound.work.bytes();
    row.hard_us = bound.bound.hard_us;
    row.calibrated_us = bound.bound.calibrated_us;
    row.unfused_us = bound.unfused_us;
    row.only_bytes = bound.work.only_bytes;
    return row;
}

// Equal operators with the same work from the same line, as in equal layers, are one row.
std::vector<BoundRow> grouped(const graph::Graph& graph,
                              const std::vector<sol::NodeBound>& bounds) {
    std::vector<BoundRow> rows;
    std::map<std::string, std::size_t> row_by_key;  // position in `rows`
    for (const auto& bound : bounds) {
        if (bound.work.bytes() == 0 && bound.work.flops == 0) continue;
        const graph::Node& node = graph[bound.node];
        const BoundRow added = row_of(node, bound);
        const auto key = fmt::format("{}\n{}\n{} {} {}", graph::describe_line(node.where),
                                     added.what, added.flops, added.bytes, added.unfused_us);
        const auto [at, is_new] = row_by_key.try_emplace(key, rows.size());
        if (is_new) {
            rows.push_back(added);
            continue;
        }
        BoundRow& row = rows[at->second];
        if (row.where != added.where) row.where = graph::describe_line(node.where);
        ++row.count;
        row.flops += added.flops;
        row.bytes += added.bytes;
        row.hard_us += added.hard_us;
        row.calibrated_us += added.calibrated_us;
        row.unfused_us += added.unfused_us;
    }
    return rows;
}

std::string bytes_text(double bytes) {
    return quantity(bytes) + (bytes < 1000 ? " B" : "B");
}

std::string ratio(double value) {
    return value > 0 ? fmt::format("{:.2f}x", value) : "-";
}

std::string table_of(const std::vector<BoundRow>& rows, bool patterns) {
    const auto right = Align::right;
    Table table({{patterns ? "pattern" : "operator"},
                 {patterns ? "nodes" : "count", right},
                 {"source"},
                 {"flops", right},
                 {"bytes", right},
                 {"hard", right},
                 {"calibrated", right},
                 {"unfused", right},
                 {"headroom", right}});
    for (const BoundRow& row : rows) {
        auto what = row.what;
        if (row.only_bytes) what += " (by bytes)";
        if (!row.counted) what += " *";
        table.row({what, fmt::format("{}", row.count), row.where,
                   row.flops > 0 ? quantity(row.flops) : "-", bytes_text(row.bytes),
                   duration(row.hard_us), duration(row.calibrated_us), duration(row.unfused_us),
                   ratio(row.headroom())});
    }
    return table.text();
}

std::string whole_text(const SpeedOfLight& light) {
    const auto& whole = light.whole;
    const auto right = Align::right;
    Table table({{"the whole graph"},
                 {"bytes", right},
                 {"hard", right},
                 {"calibrated", right},
                 {"speedup at best", right}});
    table.row({"operators one by one (eager, at best)", bytes_text(whole.unfused_bytes), "",
               duration(whole.unfused_us), "1"});
    table.row({"patterns fused as discovered", "", duration(whole.fused.hard_us),
               duration(whole.fused.calibrated_us), ratio(light.fused_speedup())});
    table.row({"one ideal program", bytes_text(whole.least_bytes), duration(whole.ideal.hard_us),
               duration(whole.ideal.calibrated_us), ratio(light.best_speedup())});
    return table.text();
}

ordered_json bound_row_json(const BoundRow& row, bool pattern) {
    ordered_json parts{{pattern ? "pattern" : "operator", row.what},
                       {"family", row.family},
                       {"where", row.where},
                       {pattern ? "nodes" : "count", row.count},
                       {"flops", row.flops},
                       {"bytes", row.bytes},
                       {"hard_us", row.hard_us},
                       {"calibrated_us", row.calibrated_us},
                       {"unfused_us", row.unfused_us},
                       {"headroom", row.headroom()}};
    if (pattern) parts["counted"] = row.counted;
    if (!pattern) parts["only_bytes"] = row.only_bytes;
    return parts;
}

}  // namespace

double SpeedOfLight::fused_speedup() const {
    return whole.fused.calibrated_us > 0 ? whole.unfused_us / whole.fused.calibrated_us : 0;
}

double SpeedOfLight::best_speedup() const {
    return whole.ideal.calibrated_us > 0 ? whole.unfused_us / whole.ideal.calibrated_us : 0;
}

SpeedOfLight speed_of_light(const graph::Graph& graph, const match::Discovery& discovery, Tf32 tf32,
                            const GpuSpec& gpu) {
    SpeedOfLight light;
    light.gpu = gpu.name;
    light.tf32 = tf32;
    const auto bounds = sol::node_bounds(graph, tf32, gpu);
    const auto ids = ids_by_name(graph);
    std::vector<sol::Part> parts;
    for (const auto& pattern : discovery.patterns) parts.push_back(part_of(pattern, ids));
    light.whole = sol::graph_bound(graph, bounds, parts, tf32, gpu);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto& pattern = discovery.patterns[i];
        BoundRow row;
        row.where = graph::describe(pattern.where);
        row.what = pattern.id;
        row.family = pattern.rule;
        row.count = static_cast<int>(pattern.nodes.size());
        row.flops = pattern.cost.flops;
        row.bytes = pattern.cost.bytes;
        row.hard_us = pattern.cost.hard_us;
        row.calibrated_us = pattern.cost.bound_us;
        row.unfused_us = pattern.cost.unfused_us;
        row.counted = std::ranges::find(light.whole.used, i) != light.whole.used.end();
        light.patterns.push_back(std::move(row));
    }
    for (const auto& bound : bounds) {
        ++light.operators;
        light.views += bound.work.bytes() == 0 && bound.work.flops == 0;
    }
    light.nodes = grouped(graph, bounds);
    return light;
}

std::string to_text(const SpeedOfLight& light, bool with_nodes) {
    std::string text =
        fmt::format("{}{} on {}: ceilings {}\n\n", light.source,
                    light.dtype.empty() ? "" : " in " + light.dtype, light.gpu, light.ceilings);
    if (light.patterns.empty()) {
        text += "no patterns to fuse were found\n";
    } else {
        text += table_of(light.patterns, true);
        if (std::ranges::any_of(light.patterns, [](const auto& row) { return !row.counted; }))
            text +=
                "  * not counted below: it gains nothing, or another pattern of its product gains "
                "more\n";
    }
    if (with_nodes) {
        text += "\n" + table_of(light.nodes, false);
        text += fmt::format("  {} move{} nothing\n",
                            counted(static_cast<std::size_t>(light.views), "view"),
                            light.views == 1 ? "s" : "");
    }
    text += "\n" + whole_text(light);
    text += fmt::format("  {}, {} flops\n",
                        counted(static_cast<std::size_t>(light.operators), "operator"),
                        quantity(light.whole.flops));
    if (light.whole.only_bytes > 0)
        text += fmt::format("  {} counted by bytes alone: the arithmetic is not known\n",
                            counted(static_cast<std::size_t>(light.whole.only_bytes), "operator"));
    return text;
}

std::string to_json(const SpeedOfLight& light, bool with_nodes) {
    const auto& whole = light.whole;
    ordered_json parts{{"source", light.source},
                       {"dtype", light.dtype},
                       {"gpu", light.gpu},
                       {"ceilings", light.ceilings},
                       {"tf32_products", light.tf32.products},
                       {"tf32_convolutions", light.tf32.convolutions},
                       {"operators", light.operators},
                       {"views", light.views}};
    parts["patterns"] = ordered_json::array();
    for (const auto& row : light.patterns) parts["patterns"].push_back(bound_row_json(row, true));
    if (with_nodes) {
        parts["nodes"] = ordered_json::array();
        for (const auto& row : light.nodes) parts["nodes"].push_back(bound_row_json(row, false));
    }
    parts["whole"] = {{"flops", whole.flops},
                      {"unfused_bytes", whole.unfused_bytes},
                      {"least_bytes", whole.least_bytes},
                      {"unfused_us", whole.unfused_us},
                      {"fused_hard_us", whole.fused.hard_us},
                      {"fused_us", whole.fused.calibrated_us},
                      {"ideal_hard_us", whole.ideal.hard_us},
                      {"ideal_us", whole.ideal.calibrated_us},
                      {"fused_speedup", light.fused_speedup()},
                      {"best_speedup", light.best_speedup()},
                      {"counted_by_bytes", whole.only_bytes}};
    return parts.dump(2) + "\n";
}

std::string gpu_table_text(const std::vector<GpuSpec>& gpus,
                           const std::vector<std::string>& sources) {
    const auto right = Align::right;
    Table table({{"gpu"},
                 {"arch"},
                 {"SMs", right},
                 {"bf16 TFLOP/s", right},
                 {"tf32", right},
                 {"fp32", right},
                 {"memory TB/s", right},
                 {"L2 TB/s", right},
                 {"L2 MiB", right},
                 {"launch us", right},
                 {"ceilings"}});
    const auto pair = [](double ceiling, double peak) {
        return fmt::format("{:.4g} of {:.4g}", ceiling, peak);
    };
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        const GpuSpec& g = gpus[i];
        table.row({std::string(g.name), std::string(g.arch), fmt::format("{}", g.num_sms),
                   pair(g.calibrated_bf16_tflops, g.bf16_tflops),
                   pair(g.calibrated_tf32_tflops, g.tf32_tflops),
                   pair(g.calibrated_fp32_tflops, g.fp32_tflops),
                   pair(g.calibrated_memory_tbs, g.memory_tbs), pair(g.calibrated_l2_tbs, g.l2_tbs),
                   fmt::format("{:.0f}", g.l2_mib), fmt::format("{:.2g}", g.launch_us),
                   sources[i]});
    }
    return table.text("") +
           "rates: the calibrated ceiling of the data sheet's peak (at the highest clock)\n";
}

}  // namespace fact::report
