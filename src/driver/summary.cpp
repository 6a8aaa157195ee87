#include "driver/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/spelling.h"

namespace fact::driver {

namespace {

// The errors in the check in which the kernel is worst compared with torch; how many checks ran.
report::Errors worst(const std::vector<verify::Check>& checks) {
    report::Errors out;
    double ratio = -1;
    for (const auto& check : checks) {
        ++out.checks;
        // Torch's error may be 0.
        const double r = check.kernel.largest / std::max(check.eager.largest, 1e-12);
        if (r <= ratio) continue;
        ratio = r;
        out.kernel = check.kernel.largest;
        out.eager = check.eager.largest;
    }
    return out;
}

// Without a GPU the interpreter ran instead of the kernel.
bool ran_on_gpu(const tune::Realization& r) {
    return r.realized && r.device != "cpu" && !r.checks.empty();
}

report::PatternRow row(const match::Pattern& pattern, const compose::Choice& choice,
                       const Realizations& realizations) {
    report::PatternRow out;
    out.id = pattern.id;
    out.where = graph::describe(pattern.where);
    out.kernel = pattern.family;
    out.fused = choice.fused;
    out.why = choice.why;
    out.saves_us = choice.saves_us;
    out.bound_us = pattern.cost.bound_us;
    const auto at = realizations.find(pattern.family);
    if (at == realizations.end()) return out;
    const auto& r = at->second;
    out.precision = tune::precision_text(r);
    out.schedule = r.schedule;
    out.text = worst(r.text_checks);
    out.compiled = worst(ran_on_gpu(r) ? r.checks : std::vector<verify::Check>());
    out.earlier = r.resumed;
    out.single = r.single;
    out.baseline_single = r.baseline_single;
    out.sustained = r.sustained;
    out.baseline_sustained = r.baseline_sustained;
    return out;
}

// "failed to build" for failed_to_build.
std::string outcome_name(verify::Outcome outcome) {
    std::string name{verify::name(outcome)};
    std::replace(name.begin(), name.end(), '_', ' ');
    return name;
}

void count(const tune::Realization& r, report::Report& report) {
    auto& s = report.statistics;
    ++s.families;
    s.realized += r.realized;
    s.texts += r.realized && !r.text_checks.empty();
    s.verified += ran_on_gpu(r);
    s.earlier += r.realized && r.resumed;
    for (const auto& candidate : r.candidates) {
        ++s.candidates[outcome_name(candidate.outcome)];
        // Not counted if an earlier run did the whole family.
        s.cached += !r.resumed && candidate.cached;
        s.compiled += !r.resumed && !candidate.cached && !candidate.compile_key.empty();
        if (candidate.outcome == verify::Outcome::passed ||
            candidate.outcome == verify::Outcome::untried)
            continue;
        const auto how = report::short_schedule(candidate.schedule);
        report.incidents.push_back(fmt::format("{} {}{}: {}: {}", r.family, candidate.name,
                                               how.empty() ? "" : fmt::format(" ({})", how),
                                               outcome_name(candidate.outcome), candidate.why));
    }
    s.measurements += r.resumed ? 0 : r.measurements;
    s.seconds += r.resumed ? 0 : r.seconds;
}

// An operator may be both in a fused pattern and in others that are not fused.
report::Operators operators(const Discovered& found, const Plan& plan) {
    std::set<std::string> fused, others;
    for (std::size_t i = 0; i < found.discovery.patterns.size(); ++i) {
        const auto& pattern = found.discovery.patterns[i];
        auto& names = i < plan.choices.size() && plan.choices[i].fused ? fused : others;
        names.insert(pattern.nodes.begin(), pattern.nodes.end());
        names.insert(pattern.copied.begin(), pattern.copied.end());
    }
    for (const auto& name : fused) others.erase(name);
    const auto count = [](const auto& list) { return static_cast<int>(list.size()); };
    return {count(found.graph.nodes), count(fused), count(others),
            count(found.discovery.left_alone), count(found.discovery.idle)};
}

// "2 of 3 parts are written in place"; an earlier cat in the same memory is a part that has its
// own.
std::string in_place(const compose::WrittenCat& cat) {
    const bool all = cat.by_kernels + cat.cats == cat.parts;
    std::string text;
    if (cat.by_kernels > 0)
        text = cat.by_kernels == cat.parts
                   ? std::string("its parts are written in place by what computes them")
                   : fmt::format("{} of {} parts {} written in place", cat.by_kernels, cat.parts,
                                 cat.by_kernels > 1 ? "are" : "is");
    if (cat.cats > 0)
        text += fmt::format("{}{} {} in its memory", text.empty() ? "" : ", and ", cat.cats,
                            cat.cats > 1 ? "are cats" : "is a cat");
    return all ? text : fmt::format("{}; of the others, {}", text, cat.why);
}

// A cat of which nothing is copied costs nothing; of others, what is.
void tell(const compose::WrittenCat& cat, report::Report& report) {
    const auto left = std::ranges::find(report.left_alone, cat.node, &match::LeftAlone::node);
    if (left == report.left_alone.end()) return;
    if (cat.by_kernels + cat.cats == 0) {
        left->reason = "its parts are copied: " + cat.why;
        return;
    }
    left->reason = in_place(cat);
    if (cat.by_kernels + cat.cats < cat.parts) return;
    report.idle.push_back(std::move(*left));
    report.left_alone.erase(left);
    --report.operators.left_alone, ++report.operators.idle;
}

}  // namespace

report::Report summarize(const Environment& environment, const Settings& settings,
                         const Discovered& found, const Realizations& realizations,
                         const Plan& plan, const std::vector<compose::WrittenCat>& cats) {
    report::Report report;
    report.source = settings.source;
    report.dtype = module_dtype(found.graph);
    if (environment.gpu)
        report.device = environment.gpu->name;
    else
        report.why_not_measured = environment.why_no_gpu;
    for (std::size_t i = 0; i < found.discovery.patterns.size(); ++i)
        report.patterns.push_back(row(found.discovery.patterns[i], plan.choices[i], realizations));
    report.left_alone = found.discovery.left_alone;
    report.idle = found.discovery.idle;
    report.operators = operators(found, plan);
    for (const auto& cat : cats) tell(cat, report);
    report.statistics.patterns = static_cast<int>(found.discovery.patterns.size());
    report.statistics.composed = plan.fused();
    for (const auto& [family, realization] : realizations) count(realization, report);
    return report;
}

void credit_agent(report::Report& report) {
    auto& agent = report.agent;
    if (agent.provider.empty()) return;
    for (auto& row : agent.rows) {
        const auto pattern = std::ranges::find(report.patterns, row.id, &report::PatternRow::id);
        if (pattern == report.patterns.end()) continue;
        row.verified = pattern->compiled.checks > 0;
        row.composed = pattern->fused && !report.package.empty();
    }
    const auto& whole = report.ablation;
    if (!whole.measured() || whole.eager.median_us <= 0) return;
    // Without kernels of the model, the package is that of the rules alone.
    agent.brought = {whole.eager, whole.kept, agent.composed() ? whole.rules : whole.kept};
}

}  // namespace fact::driver
