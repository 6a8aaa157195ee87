#include "driver/accepted.h"

#include <algorithm>

#include "compose/rewrite.h"
#include "support/files.h"

namespace fact::driver {

namespace {

std::filesystem::path file_of(const RunFolder& run) {
    return run.path() / "agent" / "accepted.json";
}

match::Discovery read(const RunFolder& run) {
    const auto text = read_file(file_of(run));
    if (!text) return {};
    auto found = match::discovery_from_json(*text);
    return found ? std::move(*found) : match::Discovery{};
}

}  // namespace

void add_pattern(const match::Pattern& pattern, match::Discovery& discovery) {
    std::erase_if(discovery.patterns, [&](const auto& one) { return one.id == pattern.id; });
    discovery.patterns.push_back(pattern);
    for (auto* list : {&discovery.left_alone, &discovery.idle})
        std::erase_if(*list, [&](const match::LeftAlone& left) {
            return std::ranges::find(pattern.nodes, left.node) != pattern.nodes.end();
        });
}

void add_accepted(const RunFolder& run, const graph::Graph& graph, match::Discovery& discovery) {
    for (const auto& pattern : read(run).patterns)
        if (compose::make_call(graph, pattern)) add_pattern(pattern, discovery);
}

Result<> accept_pattern(const RunFolder& run, const match::Pattern& pattern,
                        match::Discovery& discovery) {
    auto all = read(run);
    add_pattern(pattern, all);
    if (auto kept = write_file_atomic(file_of(run), match::to_json(all)); !kept) return kept;
    add_pattern(pattern, discovery);
    return Ok{};
}

}  // namespace fact::driver
