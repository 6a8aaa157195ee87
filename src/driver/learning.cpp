#include "driver/learning.h"

#include <fmt/format.h>

#include "dsl/cuda_text.h"

namespace fact::driver {

Result<agent::LearnedRule> rule_from(const Discovered& found, const Settings& settings,
                                     const match::Pattern& pattern,
                                     const tune::Realization& realization) {
    if (dsl::cuda_source(pattern.kernel))
        return Error{"a kernel written in CUDA cannot become a rule: no text says what it computes",
                     "", true};
    const auto set = agent::node_set(found.graph, pattern.nodes);
    if (!set) return set.error();
    const auto measured =
        realization.measured
            ? fmt::format("{:.1f} us, torch {:.1f} us, bound {:.1f} us on {}",
                          realization.single.median_us, realization.baseline_single.median_us,
                          pattern.cost.bound_us, realization.device)
            : std::string("proved as text, not timed");
    return agent::rule_of(
        found.graph, *set, pattern,
        fmt::format("{}, {}: {}", std::filesystem::path(settings.source).filename().string(),
                    graph::describe(pattern.where), measured));
}

Result<> learn_what_pays(const registry::Folders& folders, const Discovered& found,
                         const Settings& settings, const Realizations& realizations,
                         const Plan& plan) {
    for (const auto* pattern : plan.patterns(found.discovery)) {
        const auto known = realizations.find(pattern->family);
        if (dsl::cuda_source(pattern->kernel)) continue;
        if (pattern->author != match::Author::agent || known == realizations.end() ||
            !known->second.measured)
            continue;
        const auto rule = rule_from(found, settings, *pattern, known->second);
        if (!rule) return rule.error();
        if (auto kept = learn(folders, *rule); !kept) return kept;
    }
    return Ok{};
}

}  // namespace fact::driver
