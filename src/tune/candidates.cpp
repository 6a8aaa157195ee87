#include "tune/candidates.h"

#include <fmt/format.h>

#include "dsl/dsl.h"
#include "ir/extents.h"
#include "lower/pipeline/lower.h"
#include "schedule/schedule.h"

namespace fact::tune {

namespace {

std::vector<schedule::Schedule> schedules(const dsl::Program& program,
                                          const lower::ProductPlan& plan) {
    std::vector<schedule::Schedule> all;
    const auto ranked = lower::candidates(plan);
    for (const auto& block : program.schedules)
        if (block.arch == "sm90a")
            for (const schedule::Given& choice : block.choices)
                for (const auto& schedule : schedule::completions(choice, ranked))
                    all.push_back(schedule);
    return all.empty() ? ranked : all;
}

Candidate lowered(const ir::Kernel& kernel, const lower::LowerOptions& options,
                  std::string spelling) {
    Candidate candidate;
    candidate.schedule = std::move(spelling);
    auto result = lower::lower(kernel, options);
    if (!result) {
        candidate.unsupported = result.error().message;
        return candidate;
    }
    candidate.source = std::move(result->source);
    candidate.record = std::move(result->record);
    return candidate;
}

lower::LowerOptions options_of(const match::Pattern& pattern, const ir::Kernel& kernel) {
    lower::LowerOptions options;
    for (const ir::Dim& dim : kernel.dims) {
        const auto known = pattern.extents.find(dim.name);
        options.extents.push_back(known == pattern.extents.end() ? ir::kUnknownExtent
                                                                 : known->second);
    }
    for (const auto* bindings : {&pattern.params, &pattern.results})
        for (const auto& binding : *bindings) options.alignment.push_back(binding.alignment);
    return options;
}

}  // namespace

Result<std::vector<Candidate>> schedule_candidates(const match::Pattern& pattern, int limit) {
    Diagnostics diagnostics;
    auto program = dsl::compile(pattern.kernel, diagnostics);
    if (!program)
        return Error{fmt::format("the kernel text of {} is wrong:\n{}", pattern.family,
                                 render_all(diagnostics, pattern.family, pattern.kernel)),
                     ""};
    if (program->kernels.size() != 1)
        return Error{fmt::format("the kernel text of {} has {} kernels where one is realized at a "
                                 "time",
                                 pattern.family, program->kernels.size()),
                     ""};
    const ir::Kernel& kernel = program->kernels.front();
    lower::LowerOptions options = options_of(pattern, kernel);
    const auto plans = lower::plan_products(kernel, options);
    if (!plans) return plans.error();
    // Several products, or none, leave one way: each as the ranking has it.
    if (plans->size() != 1) {
        Candidate only = lowered(kernel, options, "");
        if (!only.unsupported.empty()) return Error{only.unsupported, ""};
        only.name = "s00";
        only.schedule = only.record.schedule;
        return std::vector{only};
    }
    std::vector<Candidate> all;
    int usable = 0;
    for (const auto& schedule : schedules(*program, plans->front())) {
        Candidate candidate;
        candidate.schedule = schedule::to_string(schedule);
        candidate.unsupported = lower::illegal(plans->front(), schedule);
        if (candidate.unsupported.empty()) {
            options.schedule = [&](const std::string&) { return &schedule; };
            candidate = lowered(kernel, options, candidate.schedule);
        }
        candidate.name = fmt::format("s{:02}", all.size());
        usable += candidate.unsupported.empty();
        all.push_back(std::move(candidate));
        if (limit > 0 && usable == limit) break;
    }
    if (all.empty())
        return Error{fmt::format("no schedule serves {}", pattern.family),
                     "Its product is of a kind or size that the skeletons do not take."};
    return all;
}

}  // namespace fact::tune
