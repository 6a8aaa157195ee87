#include "driver/discover.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "compose/rewrite.h"
#include "driver/accepted.h"
#include "graph/canonical.h"
#include "graph/channels_last.h"
#include "graph/pt2_archive.h"
#include "match/discover.h"
#include "support/diagnostics.h"
#include "support/files.h"
#include "support/json_fields.h"

namespace fact::driver {

namespace fs = std::filesystem;

namespace {

// Unchanged files are not written, so that results that depend on them stay valid.
Result<> write_if_changed(const fs::path& path, const std::string& text) {
    if (const auto before = read_file(path); before && *before == text) return Ok{};
    return write_file_atomic(path, text);
}

// Removes the calls of patterns that no longer exist.
void remove_stale_calls(const RunFolder& run, const match::Discovery& discovery) {
    std::error_code ignored;
    std::vector<fs::path> stale;
    for (const auto& entry : fs::directory_iterator(run.path() / "calls", ignored)) {
        bool wanted = false;
        for (const auto& pattern : discovery.patterns)
            wanted |= entry.path().filename() == pattern.id + ".json";
        if (!wanted) stale.push_back(entry.path());
    }
    for (const auto& path : stale) fs::remove(path, ignored);
}

// compose::make_call with exceptions as Errors: a defect costs this pattern only, not the run.
Result<graph::FusedCall> make_call(const graph::Graph& graph, const match::Pattern& pattern) {
    try {
        return compose::make_call(graph, pattern);
    } catch (const std::exception& error) {
        return Error{error.what(), {}};
    }
}

// What patterns are found in, proved with and composed into.
graph::Graph prepared(const graph::Graph& graph) {
    return graph::keep_channels_last(graph::canonicalize(graph));
}

void leave_alone(match::Discovery& discovery, const graph::Graph& graph,
                 const match::Pattern& pattern, const std::string& why) {
    for (const auto& node : graph.nodes)
        if (std::ranges::find(pattern.nodes, node.name) != pattern.nodes.end() &&
            std::ranges::find(discovery.left_alone, node.name, &match::LeftAlone::node) ==
                discovery.left_alone.end())
            discovery.left_alone.push_back({node.name, node.target, why, node.where});
}

}  // namespace

Result<graph::Graph> read_graph(const fs::path& archive) {
    auto read = graph::read_pt2(archive);
    if (!read) return blame_input(read.error());
    return prepared(read->graph);
}

Result<Discovered> discover(const fs::path& archive, const match::Options& options) {
    const auto read = graph::read_pt2(archive);
    if (!read) return blame_input(read.error());
    auto graph = prepared(read->graph);
    auto discovery = match::discover(graph, options, read->weights);
    return Discovered{std::move(graph), std::move(discovery)};
}

Result<Discovered> discover_stage(const RunFolder& run, const match::Options& options,
                                  const std::vector<StoredRule>& learned, bool rules) {
    auto found = discover(run.archive(), options);
    if (!found) return found;
    if (!rules)
        for (const auto& pattern : std::exchange(found->discovery.patterns, {}))
            leave_alone(found->discovery, found->graph, pattern, "rules were switched off");
    if (auto added = add_accepted(run, found->graph, found->discovery); !added)
        return added.error();
    add_learned(learned, found->graph, options, found->discovery);
    Result<> written = Ok{};
    std::erase_if(found->discovery.patterns, [&](const match::Pattern& pattern) {
        const auto call = make_call(found->graph, pattern);
        if (!call) {
            leave_alone(found->discovery, found->graph, pattern,
                        "a defect of FACT, please report it: " + call.error().text());
            return true;
        }
        if (written) written = write_if_changed(run.call(pattern.id), graph::to_json(*call));
        return false;
    });
    if (!written) return written.error();
    remove_stale_calls(run, found->discovery);
    if (auto done = write_if_changed(run.discovery(), match::to_json(found->discovery)); !done)
        return done.error();
    return found;
}

Result<TorchPrecision> precision_of(const fs::path& archive, bool allow_tf32) {
    const auto extra = graph::read_pt2_extra(archive, "fact.json");
    if (!extra) return blame_input(extra.error());
    TorchPrecision precision;
    // Archives that torch.export.save itself wrote have no fact.json.
    const auto json = try_parse_json(*extra);
    if (json && json->is_object() && json->contains("precision")) {
        const auto read = decoding<TorchPrecision>(
            archive.string() + ": torch's precision settings cannot be read",
            "trace the module again",
            [&] { return torch_precision_from(field(*json, "precision")); });
        if (!read) return blame_input(read.error());
        precision = *read;
    }
    if (allow_tf32) precision.tf32 = true;
    return precision;
}

Result<Discovered> read_discovered(const RunFolder& run) {
    std::error_code ignored;
    if (!fs::exists(run.archive(), ignored) || !fs::exists(run.discovery(), ignored))
        return Error{run.path().string() +
                         " is not a run folder: model.pt2 or discovery.json is "
                         "missing",
                     "make one with `fact discover model.pt2 -o RUN`, or `fact optimize FILE "
                     "--run-dir RUN`",
                     true};
    auto graph = read_graph(run.archive());
    if (!graph) return graph.error();
    const auto text = read_file(run.discovery());
    if (!text) return text.error();
    auto discovery = match::discovery_from_json(*text);
    if (!discovery) return blame_input(discovery.error());
    return Discovered{std::move(*graph), std::move(*discovery)};
}

const match::Pattern* find_pattern(const match::Discovery& discovery, const std::string& id) {
    const auto at = std::ranges::find(discovery.patterns, id, &match::Pattern::id);
    return at == discovery.patterns.end() ? nullptr : &*at;
}

Error no_such_pattern(const match::Discovery& discovery, const std::string& id) {
    std::vector<std::string> ids;
    for (const auto& pattern : discovery.patterns) ids.push_back(pattern.id);
    const auto near = nearest(id, ids);
    return {fmt::format("the run has no pattern '{}'", id),
            !near.empty() ? fmt::format("did you mean '{}'?", near)
            : ids.empty()
                ? "the run has no patterns at all"
                : fmt::format("the first of its {} is '{}'; `fact act RUN patterns` names "
                              "them",
                              ids.size(), ids.front()),
            true};
}

std::string module_dtype(const graph::Graph& graph) {
    for (const bool weights : {true, false})
        for (const auto& input : graph.inputs) {
            const auto& type = graph[input.value].type;
            if ((input.kind == graph::InputKind::parameter) == weights && type &&
                info(type->dtype).floating)
                return std::string(info(type->dtype).name);
        }
    return {};
}

}  // namespace fact::driver
