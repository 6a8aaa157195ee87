#include "tune/verified.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/files.h"
#include "support/hash.h"
#include "support/version.h"
#include "tune/family_files.h"
#include "tune/search.h"

namespace fact::tune {

namespace {

namespace fs = std::filesystem;

bool applies(const PriorKnowledge& prior, const RealizeOptions& options) {
    return prior.work && options.device == "cpu" && options.also.empty() && !options.retune;
}

fs::path file_of(const match::Pattern& pattern, const PriorKnowledge& prior,
                 const std::vector<Candidate>& candidates, const RealizeOptions& options) {
    const auto key = short_hash(
        fmt::format("{}\n{}\n{}", kVersion, prior.torch, result_key(pattern, candidates, options)));
    return options.store / "results" / fmt::format("verified-{}.json", key);
}

}  // namespace

Result<std::optional<Realization>> realize_verified_before(const match::Pattern& pattern,
                                                           const PriorKnowledge& prior,
                                                           const std::vector<Candidate>& candidates,
                                                           const RealizeOptions& options) {
    std::optional<Realization> none;
    if (!applies(prior, options)) return none;
    const auto text = read_file(file_of(pattern, prior, candidates, options));
    if (!text) return none;
    auto r = realization_from_json(*text);
    if (!r || !r->realized) return none;
    const auto winner = std::ranges::find(candidates, r->winner, &Candidate::name);
    if (winner == candidates.end()) return none;
    const auto compiled = jit::find_compiled({winner->name, winner->source, winner->record.arch},
                                             options.toolchain, options.store);
    if (!compiled) return none;
    r->family = pattern.family;
    r->folder = fs::absolute(options.run_folder / "kernels" / pattern.family);
    r->resumed = true;
    r->remembered = true;
    if (auto earlier = earlier_result(r->folder, options); earlier && earlier->key == r->key)
        return std::optional(*earlier);
    std::error_code ignored;
    fs::remove(r->folder / "result.json", ignored);
    if (auto written = write_file_atomic(r->folder / "kernel.fact", pattern.kernel); !written)
        return written.error();
    if (auto kept = write_family_files(*r, Winner{*winner, *compiled}); !kept) return kept.error();
    return std::optional(std::move(*r));
}

Result<> remember_verified(const Realization& r, const match::Pattern& pattern,
                           const PriorKnowledge& prior, const std::vector<Candidate>& candidates,
                           const RealizeOptions& options) {
    if (!applies(prior, options) || !r.realized || r.resumed) return Ok{};
    return write_file_atomic(file_of(pattern, prior, candidates, options), to_json(r));
}

}  // namespace fact::tune
