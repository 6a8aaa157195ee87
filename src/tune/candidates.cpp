#include "tune/candidates.h"

#include <fmt/format.h>

#include "dsl/dsl.h"
#include "lower/sm90/lower.h"
#include "schedule/schedule.h"

namespace fact::tune {

namespace {

std::vector<schedule::Schedule> schedules(const dsl::Program& program,
                                          const schedule::Problem& problem) {
    std::vector<schedule::Schedule> all;
    for (const auto& block : program.schedules)
        if (block.arch == "sm90a")
            all.insert(all.end(), block.choices.begin(), block.choices.end());
    return all.empty() ? schedule::candidates_on_sm90(problem) : all;
}

Candidate lowered(const ir::Kernel& kernel, const schedule::Schedule& schedule,
                  const schedule::Problem& problem) {
    Candidate candidate;
    candidate.schedule = schedule::to_string(schedule);
    candidate.unsupported = schedule::illegal_on_sm90(schedule, problem);
    if (!candidate.unsupported.empty()) return candidate;
    auto result = lower::sm90::lower(kernel, schedule);
    if (!result) {
        candidate.unsupported = result.error().message;
        return candidate;
    }
    candidate.source = std::move(result->source);
    candidate.record = std::move(result->record);
    return candidate;
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
    auto problem = lower::sm90::problem_of(kernel);
    if (!problem) return problem.error();
    problem->m = pattern.problem.m;
    problem->n = pattern.problem.n;
    problem->k = pattern.problem.k;
    problem->batch = pattern.problem.batch;

    std::vector<Candidate> all;
    int usable = 0;
    for (const auto& schedule : schedules(*program, *problem)) {
        Candidate candidate = lowered(kernel, schedule, *problem);
        candidate.name = fmt::format("s{:02}", all.size());
        usable += candidate.unsupported.empty();
        all.push_back(std::move(candidate));
        if (limit > 0 && usable == limit) break;
    }
    if (all.empty())
        return Error{fmt::format("no schedule serves {}", pattern.family),
                     "Its product is of a kind or size that the sm90a skeletons do not take."};
    return all;
}

}  // namespace fact::tune
