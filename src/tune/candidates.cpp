#include "tune/candidates.h"

#include <fmt/format.h>

#include <optional>

#include "dsl/dsl.h"
#include "ir/extents.h"
#include "lower/pipeline/lower.h"
#include "match/text/cost.h"
#include "schedule/schedule.h"
#include "schedule/skeletons.h"
#include "target/arch.h"

namespace fact::tune {

namespace {

// In products with a smaller K the epilogue costs more than fetching the operands.
constexpr std::int64_t kMinKForFetched = 2048;

// The schedule with this spelling, parsed as a schedule block; nullopt if it is not a schedule.
std::optional<schedule::Schedule> schedule_of(const std::string& spelling) {
    Diagnostics ignored;
    const auto program = dsl::compile(
        fmt::format("kernel k(a: f32[M, K], b: f32[N, K]) -> (y: f32[M, N]) {{\n  y = a @ b.T\n}}\n"
                    "schedule k on {} {{\n  {}\n}}\n",
                    kDefaultArch, spelling),
        ignored);
    if (!program || program->schedules.empty() || program->schedules.front().choices.size() != 1)
        return std::nullopt;
    const auto schedule = program->schedules.front().choices.front().applied_to({});
    // What an incomplete spelling leaves out became defaults: it is no schedule's whole spelling.
    if (schedule::to_string(schedule) != spelling) return std::nullopt;
    return schedule;
}

// Moves the schedules `first` to the front. The cost model's best comes second, since a search may
// stop after two. If `all` are the schedules named by the text's own blocks, no others are added.
std::vector<schedule::Schedule> brought_forward(std::vector<schedule::Schedule> all,
                                                const std::vector<std::string>& first,
                                                bool named_by_text) {
    std::vector<schedule::Schedule> out;
    for (const auto& spelling : first) {
        const auto wanted = schedule_of(spelling);
        if (!wanted) continue;
        const bool listed = std::erase(all, *wanted) > 0;
        if (listed || !named_by_text) out.push_back(*wanted);
    }
    if (out.size() > 1 && !all.empty()) {
        out.insert(out.begin() + 1, all.front());
        all.erase(all.begin());
    }
    out.insert(out.end(), all.begin(), all.end());
    return out;
}

std::vector<schedule::Schedule> schedules(const dsl::Program& program,
                                          const lower::ProductPlan& plan, std::string_view arch,
                                          const std::vector<std::string>& first) {
    std::vector<schedule::Schedule> all;
    const auto ranked = schedule::candidates(plan.skeleton, plan.problem);
    for (const auto& block : program.schedules)
        if (block.arch == arch)
            for (const schedule::PartialSchedule& choice : block.choices)
                for (const auto& schedule : schedule::completions(choice, ranked))
                    all.push_back(schedule);
    const bool named_by_text = !all.empty();
    return brought_forward(named_by_text ? all : ranked, first, named_by_text);
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
    return match::lowering_of(kernel, pattern.extents, pattern.params, pattern.results);
}

}  // namespace

Result<std::vector<Candidate>> schedule_candidates(const match::Pattern& pattern, int limit,
                                                   const std::vector<std::string>& first) {
    Diagnostics diagnostics;
    auto program = dsl::compile(pattern.kernel, diagnostics);
    if (!program)
        return Error{fmt::format("the kernel text of {} is wrong:\n{}", pattern.family,
                                 render_all(diagnostics, pattern.family, pattern.kernel)),
                     ""};
    if (program->kernels.size() != 1)
        return Error{fmt::format("the kernel text of {} has {} kernels; only one is realized at a "
                                 "time",
                                 pattern.family, program->kernels.size()),
                     ""};
    const ir::Kernel& kernel = program->kernels.front();
    lower::LowerOptions options = options_of(pattern, kernel);
    const auto plans = lower::plan_products(kernel, options);
    if (!plans) return plans.error();
    // With several products or none there is one candidate: each product with its best schedule.
    if (plans->size() != 1) {
        Candidate only = lowered(kernel, options, "");
        if (!only.unsupported.empty()) return Error{only.unsupported, ""};
        only.name = "s00";
        only.schedule = only.record.schedule;
        return std::vector{only};
    }
    const lower::ProductPlan& plan = plans->front();
    std::vector<Candidate> all;
    int usable = 0;
    for (const auto& schedule : schedules(*program, plan, options.arch, first)) {
        Candidate candidate;
        candidate.schedule = schedule::to_string(schedule);
        candidate.unsupported = schedule::illegal(plan.skeleton, schedule, plan.problem);
        if (candidate.unsupported.empty()) {
            options.schedule = [&](const std::string&) { return &schedule; };
            candidate = lowered(kernel, options, candidate.schedule);
        }
        candidate.name = fmt::format("s{:02}", all.size());
        candidate.expected_us = schedule::expected_us(plan.skeleton, schedule, plan.problem);
        if (plan.problem.k >= kMinKForFetched)
            candidate.fetched = schedule::fetched_per_output(schedule);
        usable += candidate.unsupported.empty();
        all.push_back(std::move(candidate));
        if (limit > 0 && usable == limit) break;
    }
    if (all.empty())
        return Error{fmt::format("no schedule fits {}", pattern.family),
                     "No skeleton supports this kind or size of product."};
    return all;
}

}  // namespace fact::tune
