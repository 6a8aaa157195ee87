#include "match/patterns/printer.h"

#include <fmt/format.h>

#include <filesystem>

#include "support/table.h"

namespace fact::match {
namespace {

std::string source_line(const graph::Provenance& where) {
    if (where.line == 0) return "-";
    return fmt::format("{}:{}", std::filesystem::path(where.file).filename().string(), where.line);
}

std::string module_path(const graph::Provenance& where) {
    return where.module_path.empty() ? "-" : where.module_path;
}

}  // namespace

std::string print(const Discovery& discovery) {
    std::string text;
    if (discovery.patterns.empty()) {
        text += "Nothing to fuse was found.\n";
    } else {
        Table table({{"pattern"},
                     {"rule"},
                     {"source"},
                     {"module"},
                     {"nodes", Align::right},
                     {"m", Align::right},
                     {"n", Align::right},
                     {"k", Align::right},
                     {"batch", Align::right},
                     {"flops", Align::right},
                     {"least bytes", Align::right},
                     {"bound", Align::right},
                     {"saves at most", Align::right}});
        for (const auto& pattern : discovery.patterns) {
            const auto& p = pattern.problem;
            table.row({pattern.id, pattern.rule, source_line(pattern.where),
                       module_path(pattern.where), fmt::format("{}", pattern.nodes.size()),
                       fmt::format("{}", p.m), fmt::format("{}", p.n), fmt::format("{}", p.k),
                       fmt::format("{}", p.batch), quantity(pattern.cost.flops),
                       quantity(pattern.cost.bytes), duration(pattern.cost.bound_us),
                       duration(pattern.priority)});
        }
        text += table.text("");
    }
    if (discovery.left_alone.empty()) return text;
    text += "\nleft to torch:\n";
    Table table({{"operator"}, {"source"}, {"module"}, {"reason"}});
    for (const auto& left : discovery.left_alone)
        table.row({left.node, source_line(left.where), module_path(left.where), left.reason});
    return text + table.text();
}

}  // namespace fact::match
