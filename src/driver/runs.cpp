#include "driver/runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>

#include "driver/discover.h"
#include "support/files.h"
#include "support/table.h"
#include "tune/realization.h"

namespace fact::driver {

namespace fs = std::filesystem;

namespace {

bool is_run(const fs::path& folder) {
    std::error_code ignored;
    return fs::exists(folder / "run.json", ignored) || fs::exists(folder / "state.json", ignored);
}

// For runs without a state.json: the state that follows from which files there are.
RunState state_of_files(const RunFolder& run) {
    RunState state;
    std::error_code ignored;
    const std::pair<fs::path, const char*> files[] = {{run.path() / "report.json", "report"},
                                                      {run.package() / "manifest.json", "compose"},
                                                      {run.discovery(), "discover"},
                                                      {run.archive(), "trace"}};
    for (const auto& [file, stage] : files) {
        if (!fs::exists(file, ignored)) continue;
        state.stage = stage;
        state.state = state.stage == "report" ? "finished" : "interrupted";
        break;
    }
    return state;
}

FamilySummary summarize(const RunFolder& run, const match::Pattern& pattern) {
    FamilySummary out;
    out.family = pattern.family;
    const auto text = read_file(run.result(pattern.family));
    if (!text) {
        out.outcome = "not yet";
        return out;
    }
    const auto r = tune::realization_from_json(*text);
    if (!r) {
        out.outcome = "result.json is damaged";
        return out;
    }
    out.done = true;
    out.realized = r->realized;
    out.kernel = r->kernel;
    out.schedule = r->schedule;
    out.candidates = tune::summary(r->candidates);
    out.outcome = !r->realized   ? one_line(r->why, 80)
                  : !r->measured ? "compiled, not run; its text was checked"
                                 : fmt::format("{}, torch {}", duration(r->single.median_us),
                                               duration(r->baseline_single.median_us));
    return out;
}

}  // namespace

int RunSummary::done() const {
    return static_cast<int>(std::ranges::count_if(families, &FamilySummary::done));
}

std::string RunSummary::progress() const {
    if (state.state.empty()) return "nothing done";
    return state.state == "finished" ? state.state
                                     : fmt::format("{} in {}", state.state, state.stage);
}

fs::path runs_folder() {
    return fs::path(".fact") / "runs";
}

Result<RunSummary> summarize_run(const fs::path& folder) {
    const RunFolder run(folder);
    if (!is_run(folder))
        return Error{folder.string() + " is not a run folder: it has no run.json",
                     "`fact runs list` lists the runs of the current folder", true};
    RunSummary out;
    out.folder = folder;
    const auto settings = run.settings();
    if (!settings) return settings.error();
    out.settings = *settings;
    const auto asked = run.asked();
    if (!asked) return asked.error();
    out.asked = *asked;
    out.state = run_state(run).value_or(state_of_files(run));
    if (const auto text = read_file(run.discovery()))
        if (const auto discovery = match::discovery_from_json(*text))
            for (const auto& pattern : discovery->patterns)
                if (std::ranges::find(out.families, pattern.family, &FamilySummary::family) ==
                    out.families.end())
                    out.families.push_back(summarize(run, pattern));
    return out;
}

std::vector<RunSummary> list_runs(const fs::path& folder) {
    std::vector<RunSummary> runs;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored))
        if (is_run(entry.path())) {
            auto run = summarize_run(entry.path());
            if (!run) {
                RunSummary damaged;
                damaged.folder = entry.path();
                // progress() makes "damaged in run.json" of these two.
                damaged.state.stage = "run.json";
                damaged.state.state = "damaged";
                runs.push_back(std::move(damaged));
                continue;
            }
            runs.push_back(std::move(*run));
        }
    std::sort(runs.begin(), runs.end(), [](const RunSummary& a, const RunSummary& b) {
        return std::tie(b.state.changed, a.folder) < std::tie(a.state.changed, b.folder);
    });
    return runs;
}

Result<fs::path> find_run(const std::string& name) {
    if (is_run(name)) return fs::path(name);
    std::vector<fs::path> found;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(runs_folder(), ignored)) {
        if (!is_run(entry.path())) continue;
        if (entry.path().filename() == name) return entry.path();
        if (entry.path().filename().string().starts_with(name)) found.push_back(entry.path());
    }
    if (found.size() == 1) return found.front();
    if (found.empty())
        return Error{fmt::format("there is no run {} in {}", name, runs_folder().string()),
                     "`fact runs list` lists the runs; you can also give the path of a run folder",
                     true};
    std::sort(found.begin(), found.end());
    std::string names;
    for (const auto& path : found) names += " " + path.filename().string();
    return Error{fmt::format("{} is the beginning of several runs:{}", name, names),
                 "give more of the name", true};
}

Result<OptimizeRequest> request_of(const RunSummary& run) {
    if (!run.asked && run.state.stage == "trace")
        return Error{fmt::format("{} was {} and left nothing to continue from", run.folder.string(),
                                 run.progress()),
                     "run the same `fact optimize` again", true};
    if (!run.asked || run.settings.source.empty())
        return Error{fmt::format("{} was not made by `fact optimize`", run.folder.string()),
                     "continue it with `fact realize` and `fact compose`", true};
    const Asked& asked = *run.asked;
    OptimizeRequest request;
    request.settings = run.settings;
    request.run_dir = fs::absolute(run.folder).lexically_normal();
    if (!asked.output.empty()) request.output = asked.output;
    request.effort = asked.effort;
    request.jobs = asked.jobs;
    for (const auto& file : asked.also) request.also.emplace_back(file);
    request.bench = asked.bench;
    request.registry = asked.registry;
    request.agent.alone = !asked.rules;
    request.shipped_rules = asked.shipped_rules;
    return request;
}

}  // namespace fact::driver
