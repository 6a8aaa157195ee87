#include "driver/ablate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "driver/trial_times.h"
#include "support/progress.h"

namespace fact::driver {

namespace {

// With more families, none is measured alone: that takes one package per family.
constexpr std::size_t kMaxAlone = 16;

using Dropped = std::map<std::string, std::string>;  // families that are left out, and why

// A package to measure.
struct Trial {
    std::vector<const match::Pattern*> patterns;
    std::vector<Times*> times;  // places in the report that its times go to
    // What to drop so that plan() gives this package; nullopt if it cannot give it.
    std::optional<Dropped> without;
    Times measured = {};
};

// The families that take the place of another one when it is left out: a norm and a product, for
// example, for a kernel that fuses the two.
struct Rivals {
    std::set<std::string> families;
    bool fewer = false;  // with them there are fewer patterns, and torch computes no more
};

struct Trials {
    report::Ablation ablation;
    // In this order: the package with all patterns; for each family, those without it and with its
    // rivals; the one of the rules' patterns only; for each family, the one with it alone.
    std::vector<Trial> packages;
    std::map<std::string, Rivals> rivals = {};  // by the family that they replace

    // Equal packages are measured once: two measurements would make them look different.
    void add(Trial trial) {
        const auto same = std::ranges::find(packages, trial.patterns, &Trial::patterns);
        if (same == packages.end()) return packages.push_back(std::move(trial));
        same->times.insert(same->times.end(), trial.times.begin(), trial.times.end());
        if (!same->without) same->without = std::move(trial.without);
    }
};

// The patterns of the family if `its_own`, else all the others.
std::vector<const match::Pattern*> of_family(const std::vector<const match::Pattern*>& all,
                                             const std::string& family, bool its_own) {
    std::vector<const match::Pattern*> out;
    for (const auto* pattern : all)
        if ((pattern->family == family) == its_own) out.push_back(pattern);
    return out;
}

// The families of `others` that are not in `planned` and share operators with `gone`; none if a
// pattern of `gone` shares no operator with them.
std::set<std::string> replacing(const std::vector<const match::Pattern*>& gone,
                                const std::vector<const match::Pattern*>& others,
                                const std::set<std::string>& planned) {
    std::map<std::string, std::string> new_family;  // by node
    for (const auto* pattern : others)
        if (!planned.contains(pattern->family))
            for (const auto& node : pattern->nodes) new_family[node] = pattern->family;
    std::set<std::string> families;
    for (const auto* pattern : gone) {
        bool replaced = false;
        for (const auto& node : pattern->nodes)
            if (const auto at = new_family.find(node); at != new_family.end()) {
                families.insert(at->second);
                replaced = true;
            }
        if (!replaced) return {};
    }
    return families;
}

// Whether `some` are fewer patterns than `all` but cover as much of the graph.
bool fewer(const std::vector<const match::Pattern*>& some,
           const std::vector<const match::Pattern*>& all) {
    const auto nodes = [](const auto& patterns) {
        std::size_t count = 0;
        for (const auto* pattern : patterns) count += pattern->nodes.size();
        return count;
    };
    return some.size() < all.size() && nodes(some) >= nodes(all);
}

bool is_models(const match::Pattern* pattern) {
    return pattern->author == match::Author::agent;
}

// Adds the plan of the rules alone, if a language model added patterns.
void plan_without_model(const Discovered& found, const Realizations& realizations,
                        const std::vector<const match::Pattern*>& all, Trials& trials) {
    Dropped models;
    for (const auto* pattern : all)
        if (is_models(pattern))
            models[pattern->family] = "the whole module is faster without the model's kernels";
    if (models.empty()) return;
    auto others = driver::plan(found, realizations, models).patterns(found.discovery);
    if (!others.empty()) trials.add({std::move(others), {}, std::move(models)});
}

void plan_trials(const Discovered& found, const Realizations& realizations, const Plan& plan,
                 Trials& trials) {
    const auto all = plan.patterns(found.discovery);
    auto& ablation = trials.ablation;
    ablation.patterns = static_cast<int>(all.size());
    std::set<std::string> planned;
    for (const auto* pattern : all)
        if (planned.insert(pattern->family).second)
            ablation.rows.push_back({.family = pattern->family, .alone = {}, .all_but = {}});
    trials.add({all, {&ablation.all}, Dropped{}});
    for (auto& row : ablation.rows) {
        const auto own = of_family(all, row.family, true);
        row.patterns = static_cast<int>(own.size());
        auto others =
            driver::plan(found, realizations, {{row.family, "left out"}}).patterns(found.discovery);
        Trial left_out{of_family(all, row.family, false), {&row.all_but}, {}};
        // If the two differ, plan() puts rivals in the family's place.
        if (others == left_out.patterns)
            left_out.without = {{row.family, "the whole module is faster without it"}};
        trials.add(std::move(left_out));
        auto rivals = replacing(own, others, planned);
        if (rivals.empty()) continue;
        trials.rivals[row.family] = {std::move(rivals), fewer(others, all)};
        trials.add(
            {std::move(others),
             {&row.instead},
             Dropped{{row.family, "the whole module is faster with other patterns in its place"}}});
    }
    plan_without_model(found, realizations, all, trials);
    // The only family alone is the package with all patterns.
    if (ablation.rows.size() < 2 || ablation.rows.size() > kMaxAlone) return;
    for (auto& row : ablation.rows)
        trials.add({of_family(all, row.family, true), {&row.alone}, {}});
}

// Whether `times` are shorter than `others` by more than the uncertainty of the medians. Nothing
// less drops a pattern, since its kernel was faster than torch when it was timed by itself.
bool beats(const Times& times, const Times& others) {
    return times.median_us + std::max(uncertainty(times), uncertainty(others)) < others.median_us;
}

// The families that do not pay off, each judged by itself.
Dropped not_paying(const Trials& trials) {
    Dropped dropped;
    const auto& ablation = trials.ablation;
    for (const auto& row : ablation.rows) {
        const double all = ablation.all.median_us, without = row.all_but.median_us;
        const bool replaced = row.instead.runs > 0 && row.instead.median_us < without;
        if (!beats(replaced ? row.instead : row.all_but, ablation.all)) continue;
        const auto faster = [&](double time, std::string_view how) {
            return fmt::format("the whole module is {:.1f} us faster {}", all - time, how);
        };
        if (replaced) {
            dropped[row.family] = faster(row.instead.median_us, "with other patterns in its place");
            continue;
        }
        dropped[row.family] = faster(without, "without it");
        if (row.instead.runs == 0) continue;
        // Else plan() would put the rivals in the family's place.
        for (const auto& rival : trials.rivals.at(row.family).families)
            dropped.try_emplace(
                rival, fmt::format("the whole module is faster without it and {}", row.family));
    }
    return dropped;
}

// For when no change is faster: a change to fewer patterns that is not slower; empty if none is.
Dropped as_fast_with_fewer(const Trials& trials) {
    for (const auto& row : trials.ablation.rows) {
        const auto rivals = trials.rivals.find(row.family);
        if (rivals != trials.rivals.end() && rivals->second.fewer &&
            !beats(trials.ablation.all, row.instead))
            return {{row.family, "the whole module is as fast with fewer patterns in its place"}};
    }
    return {};
}

void apply(const Dropped& dropped, const Discovered& found, const Realizations& realizations,
           report::Ablation& ablation, Plan& plan) {
    std::map<std::string, double> saved_us;  // by family: what it saves in the whole module
    for (auto& row : ablation.rows) {
        saved_us[row.family] = row.all_but.median_us - ablation.all.median_us;
        row.kept = false;
    }
    // Planned anew, since another pattern of the same product may take a dropped one's place.
    if (!dropped.empty()) plan = driver::plan(found, realizations, dropped);
    for (const auto* pattern : plan.patterns(found.discovery))
        for (auto& row : ablation.rows) row.kept |= row.family == pattern->family;
    for (std::size_t i = 0; i < plan.choices.size(); ++i)
        if (const auto at = saved_us.find(found.discovery.patterns[i].family); at != saved_us.end())
            if (plan.choices[i].fused || dropped.contains(at->first))
                plan.choices[i].saves_us = at->second;
}

struct Confirmed {
    Dropped dropped;
    Times times;  // of the module without the dropped families
};

// Changes that help one by one may not help together. If the best package so far is faster than the
// package without any family of `dropped`, the changes of the best one are returned instead; if the
// original module is faster still, everything is dropped.
Result<Confirmed> confirmed(Dropped dropped, const Trials& trials, const Discovered& found,
                            const Realizations& realizations, const TrialBench& bench) {
    const auto together = driver::plan(found, realizations, dropped).patterns(found.discovery);
    const Trial* best = nullptr;  // never stays null: the package with all patterns has a `without`
    const Times* already_timed = together.empty() ? &trials.ablation.eager : nullptr;
    for (const Trial& trial : trials.packages) {
        if (trial.patterns == together) already_timed = &trial.measured;
        if (trial.without && (!best || beats(trial.measured, best->measured))) best = &trial;
    }
    TrialTimes times{trials.ablation.eager, {}, "", false};
    if (already_timed) {
        times.trials = {*already_timed, best->measured};
    } else {
        auto measured = bench.times("confirmation", {together, best->patterns});
        if (!measured) return measured.error();
        times = std::move(*measured);
    }
    const bool together_pays = !beats(times.trials[1], times.trials[0]);
    const bool original_is_faster = beats(times.eager, times.trials[together_pays ? 0 : 1]);
    if (original_is_faster)
        for (const auto& pattern : found.discovery.patterns)
            dropped.try_emplace(pattern.family, "the original module is faster");
    else if (!together_pays)
        dropped = *best->without;
    return Confirmed{std::move(dropped),
                     original_is_faster ? times.eager : times.trials[together_pays ? 0 : 1]};
}

}  // namespace

Result<report::Ablation> ablate_stage(const Environment& environment, const RunFolder& run,
                                      const Settings& settings, const Discovered& found,
                                      const Realizations& realizations, const std::string& module,
                                      Plan& plan, bool brief) {
    Trials trials;
    if (!environment.gpu || settings.source.empty() || plan.fused() == 0) return trials.ablation;
    plan_trials(found, realizations, plan, trials);
    const TrialBench bench(environment, run, settings, found, realizations, module, brief);
    std::vector<std::vector<const match::Pattern*>> packages;
    for (const Trial& trial : trials.packages) packages.push_back(trial.patterns);

    Progress progress("choose", 0);
    progress.status("each pattern alone, and left out in turn");
    const auto times = bench.times("ablation", packages);
    if (!times) return times.error();
    trials.ablation.eager = times->eager;
    trials.ablation.earlier = times->earlier;
    for (std::size_t i = 0; i < packages.size(); ++i) {
        trials.packages[i].measured = times->trials[i];
        for (Times* place : trials.packages[i].times) *place = times->trials[i];
    }
    // The fastest of the original module and the packages without the model's kernels.
    trials.ablation.rules = trials.ablation.eager;
    for (std::size_t i = 0; i < packages.size(); ++i)
        if (std::ranges::none_of(packages[i], is_models) &&
            times->trials[i].median_us < trials.ablation.rules.median_us)
            trials.ablation.rules = times->trials[i];
    Dropped dropped = not_paying(trials);
    if (dropped.empty()) dropped = as_fast_with_fewer(trials);
    const auto done = confirmed(std::move(dropped), trials, found, realizations, bench);
    if (!done) return done.error();
    trials.ablation.kept = done->times;
    apply(done->dropped, found, realizations, trials.ablation, plan);
    progress.finish(times->how);
    return trials.ablation;
}

}  // namespace fact::driver
