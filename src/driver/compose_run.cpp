#include "driver/compose_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compose/package.h"
#include "driver/ablate.h"

namespace fact::driver {

namespace {

// An Error if two patterns of the set share an operator.
Result<> check_apart(const std::vector<const match::Pattern*>& patterns) {
    std::map<std::string, std::string> owners;
    for (const auto* pattern : patterns)
        for (const auto& node : pattern->nodes)
            if (const auto [at, fresh] = owners.emplace(node, pattern->id); !fresh)
                return Error{fmt::format("{} is in both {} and {}", node, at->second, pattern->id),
                             "only one kernel may compute an operator: leave one of the two out",
                             true};
    return Ok{};
}

}  // namespace

Result<Plan> plan_of(const Discovered& found, const Realizations& realizations,
                     const std::vector<std::string>& ids) {
    const auto& patterns = found.discovery.patterns;
    Plan plan{std::vector<compose::Choice>(patterns.size(), {false, "it is not in the given set"})};
    for (const auto& id : ids) {
        const auto* pattern = find_pattern(found.discovery, id);
        if (!pattern) return no_such_pattern(found.discovery, id);
        const auto known = realizations.find(pattern->family);
        if (known == realizations.end() || !known->second.realized)
            return Error{fmt::format("{} has no kernel: {}", id,
                                     known == realizations.end() ? "it was not realized yet"
                                                                 : known->second.why),
                         "leave it out, or run `fact realize` first", true};
        plan.choices[static_cast<std::size_t>(pattern - patterns.data())] = {true, ""};
    }
    if (auto apart = check_apart(plan.patterns(found.discovery)); !apart) return apart.error();
    return plan;
}

Result<Plan> compose_run(const RunFolder& run, const std::filesystem::path& output,
                         const std::vector<std::string>& ids) {
    const auto output_lock = compose::lock_output(output);
    if (!output_lock) return blame_input(output_lock.error());
    if (auto fine = compose::check_output(output); !fine) return blame_input(fine.error());
    const auto settings = run.settings();
    if (!settings) return settings.error();
    const auto found = read_discovered(run);
    if (!found) return found.error();
    const auto realizations = read_realizations(run, found->discovery);
    if (!realizations) return realizations.error();
    const auto environment = find_environment(settings->arch);
    if (!environment) return environment.error();
    auto chosen = ids.empty() ? Result<Plan>(plan(*found, *realizations))
                              : plan_of(*found, *realizations, ids);
    if (!chosen) return chosen.error();
    if (ids.empty())
        if (auto done = ablate_stage(*environment, run, *settings, *found, *realizations,
                                     /*module=*/"", *chosen);
            !done)
            return done.error();
    auto done = compose_stage(run, *settings, *found, *realizations, *chosen, output);
    if (!done) return done.error();
    if (auto placed = accept(run, *done); !placed) return placed.error();
    return chosen;
}

}  // namespace fact::driver
