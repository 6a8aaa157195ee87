// From candidates to the family's files, reusing results of earlier runs: realize_candidates() and
// result_key() of tune/search.h.
#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "jit/compile_key.h"
#include "support/files.h"
#include "support/hash.h"
#include "tune/family_files.h"
#include "tune/journal.h"
#include "tune/remembered.h"
#include "tune/search.h"

namespace fact::tune {

namespace {

namespace fs = std::filesystem;

std::string why_unrealized(const SearchResult& found) {
    if (!found.opened.error.empty()) return found.opened.error;
    for (const auto& check : found.opened.text_checks)
        if (!check.passed)
            return fmt::format(
                "the kernel text does not compute what the module does ({}, seed {}): {}",
                check.distribution, check.seed, check.why);
    std::string why = summary(found.results);
    for (const auto& result : found.results)
        if (!result.why.empty()) return fmt::format("{}; {}: {}", why, result.name, result.why);
    return why;
}

}  // namespace

std::string result_key(const match::Pattern& pattern, const std::vector<Candidate>& candidates,
                       const RealizeOptions& options) {
    const auto& p = pattern.problem;
    // "realize 2" is counted up when results of earlier versions of FACT must not be reused.
    std::string bytes = fmt::format(
        "realize 2\n{}\n{}\n{} {} {} {}\n{} {} {}\n", call_identity(options), pattern.kernel, p.m,
        p.n, p.k, p.batch, options.device, options.device_name, allowed_tf32(pattern, options));
    for (const auto& candidate : candidates) {
        bytes += fmt::format("{} {}\n", candidate.name, candidate.schedule);
        if (!candidate.unsupported.empty()) continue;
        bytes += jit::compile_key(unit_of(candidate), options.toolchain) + "\n" +
                 to_json(candidate.record);
    }
    return short_hash(bytes);
}

Result<Realization> realize_candidates(const match::Pattern& pattern,
                                       const std::vector<Candidate>& candidates,
                                       const RealizeOptions& options) {
    const auto started = std::chrono::steady_clock::now();
    Realization r;
    r.family = pattern.family;
    r.device = options.device_name;
    // Absolute: the worker and the compiler may run in another folder.
    r.folder = fs::absolute(options.run_folder / "kernels" / pattern.family);

    r.key = result_key(pattern, candidates, options);
    if (!options.retune)
        if (auto earlier = earlier_result(r.folder, options); earlier && earlier->key == r.key)
            return *earlier;
    std::error_code ignored;
    fs::remove(r.folder / "result.json", ignored);
    if (auto written = write_file_atomic(r.folder / "kernel.fact", pattern.kernel); !written)
        return written.error();

    TemporaryFolder scratch(r.folder, ".candidates");
    SearchRequest request;
    request.candidates = candidates;
    request.open.call = fs::absolute(options.call).string();
    request.open.kernel_text = (r.folder / "kernel.fact").string();
    request.open.weights = options.weights.empty() ? "" : fs::absolute(options.weights).string();
    request.open.device = options.device;
    request.open.precision = options.precision;
    request.open.authored = pattern.author != match::Author::rules;
    request.hard_us = pattern.cost.hard_us;
    request.bound_us = pattern.cost.bound_us;
    request.scratch = scratch.path();
    Journal journal(options.run_folder / "journal.jsonl");
    request.finished = [&](const CandidateResult& result) {
        journal.add(to_json_line(pattern.family, result));
    };
    auto found = search(request, options);
    if (!found) return found.error();
    if (journal.failure()) return *journal.failure();

    r.text_checks = found->opened.text_checks;
    r.note = found->opened.note;
    r.candidates = found->results;
    r.measurements = found->measurements;
    r.stopped = found->stopped;
    r.prepare_seconds = found->prepare_seconds;
    std::optional<Winner> kept;
    if (found->winner >= 0) {
        const Candidate* winner = &candidates[found->winner];
        kept.emplace(Winner{*winner, *found->artifact});
        r.realized = true;
        r.measured = found->best.single.runs > 0;
        r.winner = winner->name;
        r.kernel = winner->record.kernel;
        r.schedule = winner->record.schedule;
        r.precision = winner->record.precision;
        r.from_file = winner->from_file;
        r.checks = found->best.checks;
        r.single = found->best.single;
        r.baseline_single = found->best.baseline_single;
        r.sustained = found->best.sustained;
        r.baseline_sustained = found->best.baseline_sustained;
    } else {
        r.why = why_unrealized(*found);
    }
    r.seconds = Seconds(std::chrono::steady_clock::now() - started).count();
    if (auto done = write_family_files(r, kept); !done) return done.error();
    return r;
}

}  // namespace fact::tune
