// Actions on the whole module: compose or measure a set of patterns, report the budget, stop.
// Declared in driver/action_requests.h.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "agent/proposal.h"
#include "agent/transcript.h"
#include "driver/action_requests.h"
#include "driver/compose_run.h"
#include "driver/realize.h"
#include "driver/trial_times.h"
#include "report/times.h"
#include "support/files.h"

namespace fact::driver {

namespace {

// The patterns that a request names; empty if it names none.
Result<std::vector<std::string>> set_field(const Json& request) {
    if (!request.contains("patterns")) return std::vector<std::string>{};
    auto named = names_field(request, "patterns");
    if (named && named->empty())
        return Error{"'patterns' is an empty list", "leave it out to let FACT choose", true};
    return named;
}

}  // namespace

Result<Json> compose_set(LoadedRun& loaded, const Json& request) {
    const auto ids = set_field(request);
    if (!ids) return ids.error();
    const auto folder = text_field(request, "output", false);
    if (!folder) return folder.error();
    const std::filesystem::path output = folder->empty() ? loaded.run.package().string() : *folder;
    const auto plan = compose_run(loaded.run, output, *ids);
    if (!plan) return plan.error();
    Json fused = Json::array(), left = Json::array();
    for (std::size_t i = 0; i < plan->choices.size(); ++i) {
        const auto& id = loaded.found.discovery.patterns[i].id;
        if (plan->choices[i].fused)
            fused.push_back(id);
        else
            left.push_back({{"pattern", id}, {"why", shortened(plan->choices[i].why)}});
    }
    if (fused.empty())
        return Error{"no pattern can be fused, so no package was written",
                     "`patterns` says what became of each", true};
    return Json{{"package", output.string()}, {"fused", fused}, {"not_fused", left}};
}

Result<Json> measure(LoadedRun& loaded, const Json& request) {
    const auto ids = set_field(request);
    if (!ids) return ids.error();
    if (!loaded.environment.gpu)
        return Error{"nothing can be timed: there is no GPU",
                     "`compose` chooses by bounds; `budget` estimates what is left", true};
    const auto settings = loaded.run.settings();
    if (!settings) return settings.error();
    if (settings->source.empty())
        return Error{"the run began with an archive: there is no module to compare with",
                     "make a run from the module with `fact optimize FILE`", true};
    const auto realizations = read_realizations(loaded.run, loaded.found.discovery);
    if (!realizations) return realizations.error();
    const auto set = ids->empty() ? Result<Plan>(plan(loaded.found, *realizations))
                                  : plan_of(loaded.found, *realizations, *ids);
    if (!set) return set.error();
    const auto patterns = set->patterns(loaded.found.discovery);
    if (patterns.empty()) return Error{"no pattern has a kernel", "run `fact realize` first", true};
    const TrialBench bench(loaded.environment, loaded.run, *settings, loaded.found, *realizations,
                           /*module=*/"");
    const auto times = bench.times("measured", {patterns});
    if (!times) return times.error();
    Json named = Json::array();
    for (const auto* pattern : patterns) named.push_back(pattern->id);
    return Json{{"patterns", named},
                {"eager", Json(report::to_json(times->eager))},
                {"composed", Json(report::to_json(times->trials.front()))},
                {"speedup", times->eager.median_us / times->trials.front().median_us},
                {"how", times->how}};
}

Result<Json> budget(LoadedRun& loaded, const Json&) {
    const auto realizations = read_realizations(loaded.run, loaded.found.discovery);
    if (!realizations) return realizations.error();
    double unfused_us = 0, now_us = 0, bound_us = 0;
    std::set<std::string> covered;
    const auto set = plan(loaded.found, *realizations);
    for (const auto* pattern : set.patterns(loaded.found.discovery)) {
        now_us += expected_us(*pattern, *realizations);
        bound_us += pattern->cost.bound_us;
        covered.insert(pattern->nodes.begin(), pattern->nodes.end());
    }
    for (const auto& bound : loaded.bounds) {
        unfused_us += bound.unfused_us;
        if (!covered.contains(loaded.found.graph[bound.node].name)) now_us += bound.unfused_us;
    }
    const auto least =
        sol::ideal_bound(loaded.bounds, sol::least_bytes(loaded.found.graph, loaded.bounds),
                         loaded.options.tf32, *loaded.options.ceilings);
    Json reply{
        {"unfused_us", unfused_us},
        {"now_us", now_us},
        {"least_us", least.calibrated_us},
        {"patterns_bound_us", bound_us},
        {"can_still_save", now_us > 0 ? std::max(0.0, 1 - least.calibrated_us / now_us) : 0.0}};
    const auto file = loaded.run.path() / "agent" / "transcript.jsonl";
    if (const auto asked = agent::read_transcript(file)) {
        int in = 0, out = 0;
        for (const auto& exchange : *asked) {
            in += exchange.answer.tokens_in;
            out += exchange.answer.tokens_out;
        }
        reply["asked"] = {{"calls", asked->size()}, {"tokens_in", in}, {"tokens_out", out}};
    }
    return reply;
}

Result<Json> stop(LoadedRun& loaded, const Json& request) {
    const auto why = text_field(request, "why", false);
    if (!why) return why.error();
    auto reply = budget(loaded, request);
    if (!reply) return reply;
    Json accepted = Json::array();
    for (const auto& pattern : loaded.found.discovery.patterns)
        if (pattern.author == match::Author::agent) accepted.push_back(pattern.id);
    (*reply)["accepted"] = accepted;
    (*reply)["why"] = *why;
    if (auto kept =
            write_file_atomic(loaded.run.path() / "agent" / "stopped.json", reply->dump(1) + "\n");
        !kept)
        return kept.error();
    (*reply)["next"] = "`compose` writes the package";
    return reply;
}

}  // namespace fact::driver
