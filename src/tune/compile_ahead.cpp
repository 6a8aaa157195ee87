#include "tune/compile_ahead.h"

#include <algorithm>

#include "dsl/cuda_text.h"
#include "jit/compile_key.h"
#include "sol/stopping.h"
#include "tune/candidates.h"
#include "tune/remembered.h"

namespace fact::tune {

std::vector<jit::Unit> first_units(const match::Pattern& pattern,
                                   const RealizeOptions& options) try {
    if (dsl::cuda_source(pattern.kernel)) return {};  // realize_cuda compiles it
    const int limit = candidate_limit(options);
    const PriorKnowledge prior = recall(pattern, options, limit);
    std::vector<Candidate> candidates;
    if (prior.record && !prior.compiled) candidates.push_back(prior.candidate);
    if (!prior.record) {
        auto scheduled =
            schedule_candidates(pattern, std::min(limit, sol::Rules().min_measured), prior.first);
        if (scheduled) candidates = std::move(*scheduled);
    }
    std::vector<jit::Unit> units;
    for (const Candidate& candidate : candidates)
        if (candidate.unsupported.empty()) units.push_back(unit_of(candidate));
    return units;
} catch (const std::exception&) {
    return {};  // realize() fails in the same way and reports it
}

CompileAhead::CompileAhead(std::vector<jit::Unit> units, const RealizeOptions& options) {
    for (const jit::Unit& unit : units)
        if (!jit::find_compiled(unit, options.toolchain, options.store))
            new_.insert(jit::compile_key(unit, options.toolchain));
    thread_ = std::jthread([units = std::move(units), toolchain = options.toolchain,
                            store = options.store, jobs = options.jobs,
                            deadline = options.deadlines.compile](std::stop_token stop) {
        // A few at a time: this must end soon after a stop is requested.
        const auto few = static_cast<std::size_t>(std::max(jobs, 1));
        for (std::size_t at = 0; at < units.size() && !stop.stop_requested(); at += few) {
            const auto end = std::min(at + few, units.size());
            // Failures are ignored here: the search compiles the kernel again and reports them.
            jit::compile_all({units.begin() + static_cast<std::ptrdiff_t>(at),
                              units.begin() + static_cast<std::ptrdiff_t>(end)},
                             toolchain, store, jobs, deadline);
        }
    });
}

}  // namespace fact::tune
