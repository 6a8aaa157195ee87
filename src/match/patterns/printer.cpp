#include "match/patterns/printer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

namespace fact::match {
namespace {

using Row = std::vector<std::string>;

// 1234567 as "1.2 M": with the prefix that leaves one to three digits before the point.
std::string scaled(double value, double step, const std::array<std::string_view, 6>& prefixes) {
    std::size_t prefix = 0;
    while (value >= step && prefix + 1 < prefixes.size()) value /= step, ++prefix;
    const int digits = value < 10 && prefix > 0 ? 1 : 0;
    return fmt::format("{:.{}f} {}", value, digits, prefixes[prefix]);
}

std::string flops_text(double flops) {
    return scaled(flops, 1000, {"", "k", "M", "G", "T", "P"});
}

std::string bytes_text(double bytes) {
    return scaled(bytes, 1024, {"B", "KiB", "MiB", "GiB", "TiB", "PiB"});
}

std::string source_line(const graph::Provenance& where) {
    if (where.line == 0) return "-";
    return fmt::format("{}:{}", std::filesystem::path(where.file).filename().string(), where.line);
}

std::string module_path(const graph::Provenance& where) {
    return where.module_path.empty() ? "-" : where.module_path;
}

// Columns padded to their widest cell; numbers, from column `first_number` on, to the right.
std::string align(const std::vector<Row>& rows, std::size_t first_number) {
    std::vector<std::size_t> widths(rows.front().size());
    for (const auto& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (i > 0) line += "  ";
            line += i < first_number ? fmt::format("{:<{}}", row[i], widths[i])
                                     : fmt::format("{:>{}}", row[i], widths[i]);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

}  // namespace

std::string print(const Discovery& discovery) {
    std::string text;
    if (discovery.patterns.empty()) {
        text += "No products to fuse were found.\n";
    } else {
        std::vector<Row> rows{{"pattern", "rule", "source", "module", "nodes", "m", "n", "k",
                               "batch", "flops", "least bytes", "bound us", "priority us"}};
        for (const auto& pattern : discovery.patterns) {
            const auto& p = pattern.problem;
            rows.push_back({pattern.id, pattern.rule, source_line(pattern.where),
                            module_path(pattern.where), fmt::format("{}", pattern.nodes.size()),
                            fmt::format("{}", p.m), fmt::format("{}", p.n), fmt::format("{}", p.k),
                            fmt::format("{}", p.batch), flops_text(pattern.cost.flops),
                            bytes_text(pattern.cost.bytes),
                            fmt::format("{:.1f}", pattern.cost.bound_us),
                            fmt::format("{:.1f}", pattern.priority)});
        }
        text += align(rows, 4);
    }
    if (discovery.left_alone.empty()) return text;
    text += "\nleft to torch:\n";
    std::vector<Row> rows;
    for (const auto& left : discovery.left_alone)
        rows.push_back(
            {"  " + left.node, source_line(left.where), module_path(left.where), left.reason});
    return text + align(rows, rows.front().size());
}

}  // namespace fact::match
