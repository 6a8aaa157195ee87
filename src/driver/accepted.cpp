#include "driver/accepted.h"

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

std::vector<match::Pattern> accepted_patterns(const RunFolder& run, const graph::Graph& graph) {
    auto patterns = read(run).patterns;
    std::erase_if(patterns, [&](const match::Pattern& pattern) {
        return !compose::make_call(graph, pattern).ok();
    });
    return patterns;
}

Result<> accept_pattern(const RunFolder& run, const match::Pattern& pattern) {
    auto all = read(run);
    std::erase_if(all.patterns, [&](const match::Pattern& one) { return one.id == pattern.id; });
    all.patterns.push_back(pattern);
    return write_file_atomic(file_of(run), match::to_json(all));
}

}  // namespace fact::driver
