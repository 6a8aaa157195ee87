// `fact runs`; add_runs is declared in cli/commands.h.
#include "driver/runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "driver/compare.h"
#include "report/spelling.h"
#include "support/table.h"

namespace fact::cli {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

std::string families_text(const driver::RunSummary& run) {
    return run.families.empty() ? "" : fmt::format("{} of {}", run.done(), run.families.size());
}

std::string device_text(const driver::RunSummary& run) {
    return run.state.device.empty() ? "no GPU" : run.state.device;
}

// "2026-01-31 12:00:00": without the fraction and the time zone.
std::string moment(const std::string& utc) {
    std::string text = utc.substr(0, 19);
    std::replace(text.begin(), text.end(), 'T', ' ');
    return text;
}

Json json_of(const driver::RunSummary& run) {
    Json families = Json::array();
    for (const auto& f : run.families)
        families.push_back({{"family", f.family},
                            {"done", f.done},
                            {"realized", f.realized},
                            {"schedule", f.schedule},
                            {"outcome", f.outcome}});
    return {{"run", run.folder.string()},
            {"source", run.settings.source},
            {"dtype", run.settings.dtype},
            {"device", run.state.device},
            {"state", run.state.state},
            {"stage", run.state.stage},
            {"started", run.state.started},
            {"changed", run.state.changed},
            {"why", run.state.why},
            {"families", families},
            {"resumable", run.asked.has_value()}};
}

int list(bool json) {
    const auto runs = driver::list_runs(driver::runs_folder());
    if (json) {
        Json all = Json::array();
        for (const auto& run : runs) all.push_back(json_of(run));
        print(all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
        return kDone;
    }
    if (runs.empty()) {
        print(fmt::format("no runs in {}: `fact optimize` makes them\n",
                          driver::runs_folder().string()));
        return kDone;
    }
    Table table({{"run"},
                 {"when"},
                 {"source"},
                 {"dtype"},
                 {"device"},
                 {"state"},
                 {"families done", Align::right}});
    for (const auto& run : runs)
        table.row({run.folder.filename().string(), moment(run.state.changed), run.settings.source,
                   run.settings.dtype, device_text(run), run.progress(), families_text(run)});
    print(table.text(""));
    return kDone;
}

std::string describe(const driver::RunSummary& run) {
    std::string out = fmt::format("{}\n", run.folder.string());
    const auto line = [&](std::string_view title, const std::string& text) {
        if (!text.empty()) out += fmt::format("  {:<15}{}\n", title, text);
    };
    line("source", run.settings.source);
    line("dtype", run.settings.dtype);
    line("arch", run.settings.arch);
    line("device", device_text(run));
    line("started", moment(run.state.started));
    line("changed", moment(run.state.changed));
    line("state", run.progress());
    line("why", run.state.why);
    std::error_code ignored;
    for (const auto* name : {"report.txt", "journal.jsonl", "package"})
        if (fs::exists(run.folder / name, ignored)) line(name, (run.folder / name).string());
    if (!run.families.empty()) {
        Table table({{"family"}, {"schedule"}, {"outcome"}, {"candidates"}});
        for (const auto& f : run.families)
            table.row({f.family, report::short_schedule(f.schedule), f.outcome, f.candidates});
        out += "\n" + table.text("  ");
    }
    if (run.state.state != "finished" && run.state.state != "running" && run.asked)
        out += fmt::format("\ncontinue with:  fact runs resume {}\n", run.folder.string());
    return out;
}

Result<driver::RunSummary> find_run(const std::string& name) {
    const auto folder = driver::find_run(name);
    if (!folder) return folder.error();
    return driver::summarize_run(*folder);
}

int show(const std::string& name, bool json) {
    const auto run = find_run(name);
    if (!run) return fail(run.error());
    print(json ? json_of(*run).dump(1, ' ', false, Json::error_handler_t::replace) + "\n"
               : describe(*run));
    return kDone;
}

int resume(const std::string& name, bool json, bool verbose) {
    const auto run = find_run(name);
    if (!run) return fail(run.error());
    auto request = driver::request_of(*run);
    if (!request) return fail(request.error());
    request->verbose = verbose;
    if (run->state.state == "running")
        return fail({fmt::format("{} is still running, as process {}", run->folder.string(),
                                 run->state.process),
                     "wait for it, or stop it first", true});
    // Relative paths of the source start from the folder in which the run was started.
    std::error_code failed;
    fs::current_path(run->asked->folder, failed);
    if (failed)
        return fail({fmt::format("the run was started in {}, which cannot be entered: {}",
                                 run->asked->folder, failed.message()),
                     "start it anew with `fact optimize`", true});
    return run_optimize(*request, json);
}

int compare(const std::string& a, const std::string& b, bool json) {
    const auto left = driver::find_run(a);
    if (!left) return fail(left.error());
    const auto right = driver::find_run(b);
    if (!right) return fail(right.error());
    const auto compared = driver::compare_runs(*left, *right);
    if (!compared) return fail(compared.error());
    print(json ? report::to_json(*compared) : report::to_text(*compared));
    return kDone;
}

struct RunsOptions {
    std::string run, other;  // other: the run that `compare` compares `run` with
    bool json = false, verbose = false;
};

}  // namespace

void add_runs(CLI::App& app, Action& action) {
    auto* command = app.add_subcommand("runs", "The runs of `fact optimize` in this folder");
    command->require_subcommand(1);
    command->footer(
        "RUN, A or B is a name that `fact runs list` gives, the beginning of one, or a run "
        "folder.");
    const auto options = std::make_shared<RunsOptions>();
    auto* listing = command->add_subcommand("list", "One line per run, the latest first");
    listing->add_flag("--json", options->json, "As JSON");
    listing->callback([&action, options] { action = [=] { return list(options->json); }; });
    auto* showing = command->add_subcommand("show", "How far a run has got, and what it found");
    showing->add_option("RUN", options->run, "The run")->required();
    showing->add_flag("--json", options->json, "As JSON");
    showing->callback(
        [&action, options] { action = [=] { return show(options->run, options->json); }; });
    auto* comparing = command->add_subcommand(
        "compare", "Two runs side by side: settings, times with their ratio, patterns, the model");
    comparing->add_option("A", options->run, "A run")->required();
    comparing->add_option("B", options->other, "Another run")->required();
    comparing->add_flag("--json", options->json, "As JSON");
    comparing->callback([&action, options] {
        action = [=] { return compare(options->run, options->other, options->json); };
    });
    auto* resuming = command->add_subcommand("resume", "Run optimize again with the same options");
    resuming->add_option("RUN", options->run, "The run")->required();
    resuming->add_flag("--json", options->json, "The report as JSON");
    add_verbose(*resuming, options->verbose);
    resuming->callback([&action, options] {
        action = [=] { return resume(options->run, options->json, options->verbose); };
    });
}

}  // namespace fact::cli
