#include "driver/ablate.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "driver/memo.h"
#include "driver/run_state.h"
#include "support/files.h"
#include "support/progress.h"

namespace fact::driver {

namespace fs = std::filesystem;

namespace {

// A package to measure: all patterns, or all but one family's.
struct Trial {
    std::string without;  // "" is the whole
    std::vector<const match::Pattern*> patterns;
    double median_us = 0;
};

std::vector<Trial> trials(const std::vector<const match::Pattern*>& all) {
    std::vector<Trial> out{{"", all, 0}};
    std::set<std::string> seen;
    for (const auto* pattern : all) {
        if (!seen.insert(pattern->family).second) continue;
        Trial trial{pattern->family, {}, 0};
        for (const auto* other : all)
            if (other->family != pattern->family) trial.patterns.push_back(other);
        out.push_back(std::move(trial));
    }
    return out;
}

// Fills in the medians from what fact.ablate wrote.
Result<> read_times(const std::string& text, std::vector<Trial>& trials) {
    try {
        const auto times = nlohmann::json::parse(text).at("times");
        for (std::size_t i = 0; i < trials.size(); ++i)
            trials[i].median_us = times.at(i).at("median_us").get<double>();
    } catch (const nlohmann::json::exception& error) {
        return Error{
            fmt::format("the times of the trial packages cannot be read: {}", error.what()), {}};
    }
    return Ok{};
}

Result<std::string> measure(const Environment& environment, const Settings& settings,
                            const std::vector<std::string>& packages, const fs::path& result) {
    std::vector<std::string> arguments{settings.source};
    arguments.insert(arguments.end(), packages.begin(), packages.end());
    arguments.insert(arguments.end(), {"--json", result.string()});
    if (!settings.dtype.empty()) arguments.insert(arguments.end(), {"--dtype", settings.dtype});
    if (settings.allow_tf32) arguments.push_back("--allow-tf32");
    const auto exit = fact::run(python_module(environment, "fact.ablate", arguments));
    if (!exit) return exit.error();
    if (interrupted()) return Error{"interrupted", {}};
    if (!exit->ok()) return Error{"the trial packages cannot be timed", exit->err};
    return read_file(result);
}

std::optional<std::string> recall(const Environment& environment, const std::string& module,
                                  const std::string& anywhere, std::vector<Trial> trials) {
    if (module.empty()) return std::nullopt;
    auto text = recalled(environment, "ablation", anywhere);
    if (text && !read_times(*text, trials)) text.reset();  // damaged: measured again
    return text;
}

}  // namespace

Result<> ablate_stage(const Environment& environment, const RunFolder& run,
                      const Settings& settings, const Discovered& found,
                      const Realizations& realizations, const std::string& module, Plan& plan) {
    if (!environment.gpu || settings.source.empty() || plan.fused() == 0) return Ok{};
    auto todo = trials(plan.patterns(found.discovery));
    const auto kept = run.path() / "ablation.json";
    std::string inputs = environment.gpu->name, anywhere = module;
    std::vector<compose::Package> packages;
    for (const auto& trial : todo) {
        auto package = assemble(run, settings, found, realizations, trial.patterns);
        if (!package) return package.error();
        auto from = package_inputs(*package, run);
        if (!from) return from.error();
        inputs += *from;
        anywhere += *package_contents(*package);
        packages.push_back(std::move(*package));
    }

    Progress progress("choose", 0);
    std::string how = "measured in the whole module";
    auto text = read_file(kept);
    if (text && run.current("ablate", inputs)) {
        how = "unchanged since the last run";
    } else if (auto before = recall(environment, module, anywhere, todo)) {
        how = "known from an earlier run";
        text = std::move(*before);
    } else {
        progress.status("each pattern left out in turn");
        const TemporaryFolder work(run.path(), ".trials");
        std::vector<std::string> folders;
        for (std::size_t i = 0; i < packages.size(); ++i) {
            folders.push_back((work.path() / std::to_string(i)).string());
            if (auto done = compose::write_package(packages[i], folders.back()); !done) return done;
        }
        text = measure(environment, settings, folders, work.path() / "times.json");
        if (!text) return text.error();
        if (auto done = append_journal(run, "choose", *text); !done) return done;
        if (!module.empty())
            if (auto done = memorize(environment, "ablation", anywhere, *text); !done) return done;
    }
    if (auto done = write_file_atomic(kept, *text); !done) return done;
    if (auto done = run.stamp("ablate", inputs); !done) return done;
    if (auto done = read_times(*text, todo); !done) return done;
    std::map<std::string, std::string> dropped;
    std::map<std::string, double> saves;
    for (const auto& trial : todo) {
        if (trial.without.empty()) continue;
        const double saved = trial.median_us - todo.front().median_us;
        saves[trial.without] = saved;
        if (saved <= 0)
            dropped[trial.without] =
                fmt::format("the whole module is {:.1f} us faster without it", -saved);
    }
    // Where a pattern goes, another one of the same product may take its place.
    if (!dropped.empty()) plan = driver::plan(found, realizations, dropped);
    for (std::size_t i = 0; i < plan.choices.size(); ++i)
        if (const auto at = saves.find(found.discovery.patterns[i].family); at != saves.end())
            if (plan.choices[i].fused || dropped.contains(at->first))
                plan.choices[i].saves_us = at->second;
    progress.finish(how);
    return Ok{};
}

}  // namespace fact::driver
