#include "driver/accepted.h"

#include <fmt/format.h>

#include <algorithm>

#include "compose/rewrite.h"
#include "support/files.h"

namespace fact::driver {

namespace {

std::filesystem::path file_of(const RunFolder& run) {
    return run.path() / "agent" / "accepted.json";
}

Result<match::Discovery> read(const RunFolder& run) {
    std::error_code ignored;
    if (!std::filesystem::exists(file_of(run), ignored)) return match::Discovery{};
    const auto text = read_file(file_of(run));
    if (!text) return text.error();
    auto found = match::discovery_from_json(*text);
    if (!found)
        return Error{fmt::format("{} is damaged: {}", file_of(run).string(), found.error().message),
                     "remove it to continue without the accepted patterns", true};
    return found;
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

std::set<std::string> operators(const match::Discovery& discovery) {
    std::set<std::string> names;
    for (const auto& pattern : discovery.patterns)
        for (const auto* list : {&pattern.nodes, &pattern.copied})
            names.insert(list->begin(), list->end());
    for (const auto* list : {&discovery.left_alone, &discovery.idle})
        for (const auto& one : *list) names.insert(one.node);
    return names;
}

void remove_pattern(const std::string& id, const graph::Graph& graph, match::Discovery& discovery) {
    std::erase_if(discovery.patterns, [&](const auto& one) { return one.id == id; });
    const auto accounted = operators(discovery);
    for (const auto& node : graph.nodes)
        if (!accounted.contains(node.name))
            discovery.left_alone.push_back(
                {node.name, node.target, "the text for it was withdrawn", node.where});
}

Result<> add_accepted(const RunFolder& run, const graph::Graph& graph,
                      match::Discovery& discovery) {
    const auto all = read(run);
    if (!all) return all.error();
    for (const auto& pattern : all->patterns)
        if (compose::make_call(graph, pattern)) add_pattern(pattern, discovery);
    return Ok{};
}

Result<> accept_pattern(const RunFolder& run, const match::Pattern& pattern,
                        match::Discovery& discovery) {
    auto all = read(run);
    if (!all) return all.error();
    add_pattern(pattern, *all);
    if (auto kept = write_file_atomic(file_of(run), match::to_json(*all)); !kept) return kept;
    add_pattern(pattern, discovery);
    return Ok{};
}

Result<bool> withdraw_pattern(const RunFolder& run, const std::string& id) {
    auto all = read(run);
    if (!all) return all.error();
    if (std::erase_if(all->patterns, [&](const auto& one) { return one.id == id; }) == 0)
        return false;
    if (auto kept = write_file_atomic(file_of(run), match::to_json(*all)); !kept)
        return kept.error();
    return true;
}

}  // namespace fact::driver
