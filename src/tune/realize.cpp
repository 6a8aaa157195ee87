#include "tune/realize.h"

#include <algorithm>

#include "dsl/cuda_text.h"
#include "support/files.h"
#include "tune/candidates.h"
#include "tune/exact_text.h"
#include "tune/family_files.h"
#include "tune/realize_cuda.h"
#include "tune/remembered.h"
#include "tune/search.h"
#include "tune/verified.h"

namespace fact::tune {

namespace {

// The user's files come before the schedules: if they harm the worker, the rest is not affected.
Result<std::vector<Candidate>> with_files(std::vector<Candidate> scheduled,
                                          const RealizeOptions& options) {
    const auto usable = std::find_if(scheduled.begin(), scheduled.end(),
                                     [](const Candidate& c) { return c.unsupported.empty(); });
    if (usable == scheduled.end()) return scheduled;
    std::vector<Candidate> all;
    for (const auto& file : options.also) {
        auto candidate = file_candidate(file, usable->record);
        if (!candidate) return candidate.error();
        if (options.device == "cpu" && candidate->fault.empty())
            candidate->unsupported = "a CUDA file can only be tried on a GPU";
        all.push_back(std::move(candidate).value());
    }
    for (auto& candidate : scheduled) all.push_back(std::move(candidate));
    return all;
}

// The result for a family without a kernel, with the reason.
Result<Realization> unrealized(const match::Pattern& pattern, const RealizeOptions& options,
                               std::string why) {
    Realization r;
    r.family = pattern.family;
    r.device = options.device_name;
    r.why = std::move(why);
    r.folder = std::filesystem::absolute(options.run_folder / "kernels" / pattern.family);
    if (auto kept = write_family_files(r, {}); !kept) return kept.error();
    return r;
}

}  // namespace

int candidate_limit(const RealizeOptions& options) {
    constexpr int kUsualCandidates = 16;  // beyond these the ranking expects little
    if (options.max_candidates > 0) return options.max_candidates;
    return options.device != "cpu" ? kUsualCandidates : 1;
}

namespace {

// With the precision that the text asks for.
Result<Realization> realize_text(const match::Pattern& pattern, const RealizeOptions& options) {
    if (const auto source = dsl::cuda_source(pattern.kernel))
        return realize_cuda(pattern, *source, options);
    const int limit = candidate_limit(options);
    const PriorKnowledge prior = recall(pattern, options, limit);
    if (prior.compiled) return realize_remembered(pattern, prior, options);
    if (prior.record) {
        const std::vector only{prior.candidate};
        auto alone = realize_candidates(pattern, only, options);
        if (!alone) return alone;
        if (keeps_promise(*alone, *prior.record)) {
            auto done = remember(*alone, prior, only, options, prior.record->effort);
            if (!done) return done.error();
            return alone;
        }
    }
    auto scheduled = schedule_candidates(pattern, limit, prior.first);
    if (!scheduled) return unrealized(pattern, options, scheduled.error().text());
    auto all = with_files(std::move(scheduled).value(), options);
    if (!all) return all.error();
    auto verified = realize_verified_before(pattern, prior, *all, options);
    if (!verified) return verified.error();
    if (*verified) return **verified;
    auto found = realize_candidates(pattern, *all, options);
    if (!found) return found;
    if (auto done = remember(*found, prior, *all, options, limit); !done) return done.error();
    if (auto done = remember_verified(*found, pattern, prior, *all, options); !done)
        return done.error();
    return found;
}

// After kernels in TF32 that were all wrong; `why` says how.
Result<Realization> realize_exactly(match::Pattern pattern, const std::string& text,
                                    const RealizeOptions& options, const std::string& why) {
    pattern.kernel = text;
    auto r = realize_text(pattern, options);
    if (!r) return r;
    if (r->exact_instead) return r;  // as it was in an earlier run
    r->exact_instead = true;
    if (!r->realized && !why.empty()) r->why += "; in TF32: " + why;
    const auto kept = write_file_atomic(r->folder / "result.json", to_json(*r));
    return kept ? r : Result<Realization>(kept.error());
}

// A text in TF32 is tried without if that is why all its kernels are wrong. What torch computes in
// f32 it does again, so that an earlier run's finding holds, unless all is to be searched again.
Result<Realization> realize_family(const match::Pattern& pattern, const RealizeOptions& options) {
    const auto exact = exact_text(pattern.kernel);
    if (!exact) return realize_text(pattern, options);
    const auto folder = std::filesystem::absolute(options.run_folder / "kernels" / pattern.family);
    if (!options.retune) {
        const auto earlier = earlier_result(folder, options);
        const auto text = read_file(folder / "kernel.fact");
        if (earlier && earlier->exact_instead && earlier->device == options.device_name && text &&
            *text == *exact)
            return realize_exactly(pattern, *exact, options, "");
    }
    auto found = realize_text(pattern, options);
    if (!found || !all_wrong(*found)) return found;
    RealizeOptions rest = options;
    if (rest.budget) *rest.budget = std::max(*rest.budget - Seconds(found->seconds), Seconds(0));
    return realize_exactly(pattern, *exact, rest, found->why);
}

}  // namespace

Result<Realization> realize(const match::Pattern& pattern, const RealizeOptions& options) {
    try {
        return realize_family(pattern, options);
    } catch (const FileFailure& failure) {
        return failure.error;  // the next family would fail in the same way
    } catch (const std::exception& error) {
        return unrealized(pattern, options,
                          std::string("a defect of FACT, please report it: ") + error.what());
    }
}

}  // namespace fact::tune
