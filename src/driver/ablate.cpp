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

// More families than these are not each measured alone: it takes a package for every one.
constexpr std::size_t kMostAlone = 16;

// A package to measure.
struct Trial {
    std::vector<const match::Pattern*> patterns;
    report::Times* times;  // where its times go
};

struct Trials {
    report::Ablation ablation;
    std::vector<Trial> packages;  // all, each family left out, each replaced, each alone
    // By family, those that would take its place: a norm and a product for the two as one.
    std::map<std::string, std::set<std::string>> rivals = {};
};

std::vector<const match::Pattern*> of_family(const std::vector<const match::Pattern*>& all,
                                             const std::string& family, bool its_own) {
    std::vector<const match::Pattern*> out;
    for (const auto* pattern : all)
        if ((pattern->family == family) == its_own) out.push_back(pattern);
    return out;
}

// Families new among `others` that take the place of every one of `gone`; none where some place
// would be empty.
std::set<std::string> replacing(const std::vector<const match::Pattern*>& gone,
                                const std::vector<const match::Pattern*>& others,
                                const std::set<std::string>& known) {
    std::map<std::string, std::string> taken;  // by node, the new family
    for (const auto* pattern : others)
        if (!known.contains(pattern->family))
            for (const auto& node : pattern->nodes) taken[node] = pattern->family;
    std::set<std::string> families;
    for (const auto* pattern : gone) {
        bool replaced = false;
        for (const auto& node : pattern->nodes)
            if (const auto at = taken.find(node); at != taken.end()) {
                families.insert(at->second);
                replaced = true;
            }
        if (!replaced) return {};
    }
    return families;
}

void plan_trials(const Discovered& found, const Realizations& realizations, const Plan& plan,
                 Trials& trials) {
    const auto all = plan.patterns(found.discovery);
    auto& ablation = trials.ablation;
    ablation.patterns = static_cast<int>(all.size());
    std::set<std::string> seen;
    for (const auto* pattern : all)
        if (seen.insert(pattern->family).second)
            ablation.rows.push_back({.family = pattern->family, .alone = {}, .all_but = {}});
    trials.packages.push_back({all, &ablation.all});
    for (auto& row : ablation.rows) {
        trials.packages.push_back({of_family(all, row.family, false), &row.all_but});
        row.patterns = static_cast<int>(of_family(all, row.family, true).size());
    }
    for (auto& row : ablation.rows) {
        auto others =
            driver::plan(found, realizations, {{row.family, "left out"}}).patterns(found.discovery);
        auto rivals = replacing(of_family(all, row.family, true), others, seen);
        if (rivals.empty()) continue;
        trials.rivals[row.family] = std::move(rivals);
        trials.packages.push_back({std::move(others), &row.instead});
    }
    // With one family, alone is all.
    if (ablation.rows.size() < 2 || ablation.rows.size() > kMostAlone) return;
    for (auto& row : ablation.rows)
        trials.packages.push_back({of_family(all, row.family, true), &row.alone});
}

// Fills in the times from what fact.ablate wrote.
Result<> read_times(const std::string& text, Trials& trials) {
    const auto times = [](const nlohmann::json& json) {
        return report::Times{json.at("median_us").get<double>(), json.at("low_us").get<double>(),
                             json.at("high_us").get<double>(), json.at("runs").get<int>()};
    };
    try {
        const auto json = nlohmann::json::parse(text);
        trials.ablation.eager = times(json.at("eager"));
        for (std::size_t i = 0; i < trials.packages.size(); ++i)
            *trials.packages[i].times = times(json.at("times").at(i));
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
    if (settings.training) arguments.push_back("--training");
    const auto exit = fact::run(python_module(environment, "fact.ablate", arguments));
    if (!exit) return exit.error();
    if (interrupted()) return Error{"interrupted", {}};
    if (!exit->ok()) return Error{"the trial packages cannot be timed", exit->err};
    return read_file(result);
}

// What an earlier run of the same module measured; nothing where it is damaged.
std::optional<std::string> recall(const Environment& environment, const std::string& module,
                                  const std::string& anywhere, Trials& trials) {
    if (module.empty()) return std::nullopt;
    auto text = recalled(environment, "ablation", anywhere);
    if (text && !read_times(*text, trials)) text.reset();
    return text;
}

// Takes out what does not pay.
void apply(Trials& trials, const Discovered& found, const Realizations& realizations, Plan& plan) {
    std::map<std::string, std::string> dropped;
    std::map<std::string, double> saves;
    auto& ablation = trials.ablation;
    for (auto& row : ablation.rows) {
        const double all = ablation.all.median_us, without = row.all_but.median_us;
        const bool replaced = row.instead.runs > 0 && row.instead.median_us < without;
        saves[row.family] = without - all;
        row.kept = (replaced ? row.instead.median_us : without) > all;
        if (row.kept) continue;
        const auto faster = [&](double time, std::string_view how) {
            return fmt::format("the whole module is {:.1f} us faster {}", all - time, how);
        };
        if (replaced) {
            dropped[row.family] = faster(row.instead.median_us, "with others in its place");
            continue;
        }
        dropped[row.family] = faster(without, "without it");
        if (row.instead.runs == 0) continue;
        for (const auto& rival : trials.rivals[row.family])
            dropped.try_emplace(
                rival, fmt::format("the whole module is faster without it and {}", row.family));
    }
    // Where a pattern goes, another one of the same product may take its place.
    if (!dropped.empty()) plan = driver::plan(found, realizations, dropped);
    for (std::size_t i = 0; i < plan.choices.size(); ++i)
        if (const auto at = saves.find(found.discovery.patterns[i].family); at != saves.end())
            if (plan.choices[i].fused || dropped.contains(at->first))
                plan.choices[i].saves_us = at->second;
}

}  // namespace

Result<report::Ablation> ablate_stage(const Environment& environment, const RunFolder& run,
                                      const Settings& settings, const Discovered& found,
                                      const Realizations& realizations, const std::string& module,
                                      Plan& plan) {
    Trials trials;
    if (!environment.gpu || settings.source.empty() || plan.fused() == 0) return trials.ablation;
    plan_trials(found, realizations, plan, trials);
    const auto kept = run.path() / "ablation.json";
    std::string inputs = environment.gpu->name, anywhere = module;
    std::vector<compose::Package> packages;
    for (const auto& trial : trials.packages) {
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
    } else if (auto before = recall(environment, module, anywhere, trials)) {
        how = "known from an earlier run";
        text = std::move(*before);
    } else {
        progress.status("each pattern alone, and left out in turn");
        const TemporaryFolder work(run.path(), ".trials");
        std::vector<std::string> folders;
        for (std::size_t i = 0; i < packages.size(); ++i) {
            folders.push_back((work.path() / std::to_string(i)).string());
            if (auto done = compose::write_package(packages[i], folders.back()); !done)
                return done.error();
        }
        text = measure(environment, settings, folders, work.path() / "times.json");
        if (!text) return text.error();
        if (auto done = append_journal(run, "choose", *text); !done) return done.error();
        if (!module.empty())
            if (auto done = memorize(environment, "ablation", anywhere, *text); !done)
                return done.error();
    }
    if (auto done = write_file_atomic(kept, *text); !done) return done.error();
    if (auto done = run.stamp("ablate", inputs); !done) return done.error();
    if (auto done = read_times(*text, trials); !done) return done.error();
    apply(trials, found, realizations, plan);
    progress.finish(how);
    return trials.ablation;
}

}  // namespace fact::driver
