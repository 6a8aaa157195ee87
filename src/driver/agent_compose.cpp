#include "driver/agent_compose.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "agent/answer.h"
#include "agent/prompt.h"
#include "driver/compose_run.h"
#include "driver/interview.h"
#include "driver/trial_times.h"
#include "support/subprocess.h"

namespace fact::driver {

namespace {

constexpr int kMaxSets = 3;  // of patterns, in the model's answer

std::string set_text(const std::vector<const match::Pattern*>& patterns) {
    std::vector<std::string> ids;
    for (const auto* pattern : patterns) ids.push_back(pattern->id);
    return fmt::format("{}", fmt::join(ids, ", "));
}

bool overlap(const match::Pattern& a, const match::Pattern& b) {
    return std::ranges::any_of(a.nodes, [&](const std::string& node) {
        return std::ranges::find(b.nodes, node) != b.nodes.end();
    });
}

// Whether the pattern's kernel was timed and beats torch's operators.
bool has_faster_kernel(const match::Pattern& pattern, const Realizations& realizations) {
    const auto known = realizations.find(pattern.family);
    return known != realizations.end() && known->second.realized && known->second.measured &&
           known->second.single.median_us < known->second.baseline_single.median_us;
}

// The sets of the answer that can be composed and differ from the plan, without repetition.
std::vector<Plan> plans_of(const std::string& answer, const Discovered& found,
                           const Realizations& realizations, const Plan& chosen,
                           report::Agent& agent) {
    std::vector<Plan> plans;
    const auto sets = agent::read_sets(answer);
    if (!sets) {
        agent.compositions.push_back(sets.error().message);
        return plans;
    }
    std::set<std::string> considered{set_text(chosen.patterns(found.discovery))};
    for (const auto& [ids, mistake] : *sets) {
        if (!mistake.empty()) {
            agent.compositions.push_back("a set cannot be read: " + mistake);
            continue;
        }
        if (plans.size() == kMaxSets) {
            agent.compositions.push_back(fmt::format("{}: not measured: at most {} sets are",
                                                     fmt::join(ids, ", "), kMaxSets));
            continue;
        }
        auto plan = plan_of(found, realizations, ids);
        if (!plan)
            agent.compositions.push_back(
                fmt::format("{}: {}", fmt::join(ids, ", "), plan.error().message));
        else if (considered.insert(set_text(plan->patterns(found.discovery))).second)
            plans.push_back(std::move(*plan));
    }
    return plans;
}

}  // namespace

Result<std::string> compose_question(const Environment& environment, const Discovered& found,
                                     const Realizations& realizations,
                                     const report::Ablation& ablation, const Plan& plan, int most) {
    const auto& patterns = found.discovery.patterns;
    std::vector<std::string> lines, measured;
    bool leaves_out = false;  // whether the plan leaves out a pattern that has a faster kernel
    for (std::size_t i = 0; i < patterns.size(); ++i) {
        if (!has_faster_kernel(patterns[i], realizations)) continue;
        leaves_out |= !plan.choices[i].fused;
        std::vector<std::string> others;
        for (const auto& other : patterns)
            if (&other != &patterns[i] && overlap(patterns[i], other)) others.push_back(other.id);
        const auto& times = realizations.at(patterns[i].family);
        lines.push_back(fmt::format(
            "{}: {:.1f} us, torch {:.1f} us{}", patterns[i].id, times.single.median_us,
            times.baseline_single.median_us,
            others.empty() ? "" : fmt::format("; shares with {}", fmt::join(others, ", "))));
    }
    if (!leaves_out) return std::string();
    for (const auto& row : ablation.rows)
        measured.push_back(fmt::format("without {}: {:.1f} us", row.family, row.all_but.median_us));
    return agent::fill_prompt(environment.root / "prompts" / "compose.md",
                              {{"patterns", agent::bounded(lines, 12'000)},
                               {"eager", fmt::format("{:.1f}", ablation.eager.median_us)},
                               {"all", fmt::format("{:.1f}", ablation.kept.median_us)},
                               {"chosen", set_text(plan.patterns(found.discovery))},
                               {"ablation", agent::bounded(measured, 4'000)},
                               {"most", fmt::to_string(most)}});
}

Result<> compose_with_agent(const Environment& environment, const RunFolder& run,
                            const Settings& settings, const Discovered& found,
                            const Realizations& realizations, report::Ablation& ablation,
                            const AgentRequest& request, report::Agent& agent, Plan& plan) {
    if (request.provider == "rules" || !ablation.measured()) return Ok{};
    const auto prompt =
        compose_question(environment, found, realizations, ablation, plan, kMaxSets);
    if (!prompt) return prompt.error();
    if (prompt->empty()) return Ok{};
    auto interview = Interview::begin(environment, run, request, agent);
    if (!interview) return interview.error();
    if (interview->out_of_budget(*prompt)) return Ok{};
    const auto answer = interview->ask({"compose", "", 0, *prompt});
    if (!answer) return answer.error();
    if (answer->empty()) return Ok{};
    const auto plans = plans_of(*answer, found, realizations, plan, agent);
    if (plans.empty()) return Ok{};
    std::vector<std::vector<const match::Pattern*>> sets{plan.patterns(found.discovery)};
    for (const auto& one : plans) sets.push_back(one.patterns(found.discovery));
    const TrialBench bench(environment, run, settings, found, realizations, /*module=*/"");
    const auto times = bench.times("compositions", sets);
    if (interrupted()) return Error{"interrupted", ""};
    if (!times) {
        agent.compositions.push_back("the sets cannot be timed: " + times.error().message);
        return Ok{};
    }
    const auto& chosen = times->trials.front();
    std::size_t best = 0;
    for (std::size_t i = 1; i < sets.size(); ++i) {
        const auto& time = times->trials[i];
        agent.compositions.push_back(fmt::format("{}: {:.1f} us, the chosen set {:.1f} us",
                                                 set_text(sets[i]), time.median_us,
                                                 chosen.median_us));
        const bool faster =
            time.median_us + std::max(uncertainty(time), uncertainty(chosen)) < chosen.median_us;
        if (faster && (best == 0 || time.median_us < times->trials[best].median_us)) best = i;
    }
    if (best == 0) return Ok{};
    plan = plans[best - 1];
    ablation.kept = times->trials[best];
    for (auto& row : ablation.rows)
        row.kept = std::ranges::any_of(sets[best], [&](const match::Pattern* pattern) {
            return pattern->family == row.family;
        });
    return Ok{};
}

}  // namespace fact::driver
