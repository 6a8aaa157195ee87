#include "tune/remembered.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "graph/fused.h"
#include "jit/compile_key.h"
#include "registry/identity.h"
#include "registry/neighbours.h"
#include "support/clock.h"
#include "support/files.h"
#include "support/hash.h"
#include "support/version.h"
#include "tune/family_files.h"

namespace fact::tune {

namespace {

namespace fs = std::filesystem;

// A recorded kernel that is now slower, relative to torch, by more than this factor is not reused.
constexpr double kDisappointing = 1.1;

// A hash of the torch subgraph, of the kernel's binding without names, and of torch's accumulation.
std::string call_identity(const graph::FusedCall& call, const TorchPrecision& precision) {
    auto text = graph::to_json(graph::without_names(call));
    // Whether TF32 is allowed is a separate field of the work.
    TorchPrecision usual;
    usual.tf32 = precision.tf32;
    if (precision != usual) text += describe(precision);
    return short_hash(text);
}

std::optional<graph::FusedCall> read_call(const RealizeOptions& options) {
    const auto text = read_file(options.call);
    if (!text) return std::nullopt;
    auto call = graph::fused_call_from_json(*text);
    if (!call) return std::nullopt;
    return std::move(*call);
}

// A hash of FACT's own part in a compiled kernel and its launch.
std::string code_of(const Candidate& candidate, const jit::Toolchain& toolchain) {
    return short_hash(jit::code_hash(candidate.source, toolchain.kernels_folder) +
                      to_json(candidate.record));
}

// The candidate with the record's schedule; nullopt if FACT's code has changed since the record was
// made, so that this candidate is another kernel.
std::optional<Candidate> recorded_candidate(const match::Pattern& pattern,
                                            const registry::Record& record,
                                            const jit::Toolchain& toolchain) {
    auto candidates = schedule_candidates(pattern, 1, {record.schedule});
    if (!candidates) return std::nullopt;
    const auto usable =
        std::ranges::find_if(*candidates, [](const Candidate& c) { return c.unsupported.empty(); });
    if (usable == candidates->end() || usable->schedule != record.schedule ||
        code_of(*usable, toolchain) != record.toolchain.code)
        return std::nullopt;
    return *usable;
}

// The latest record of the same work on this GPU, whatever its compiler and subgraph, whose search
// could try at least `min_effort` candidates; nullptr if there is none.
const registry::Record* record_of_same_work(const std::vector<registry::Entry>& entries,
                                            const registry::Work& work, int min_effort) {
    const registry::Record* found = nullptr;
    for (const auto& entry : entries)
        if (entry.record.effort >= min_effort && registry::same_work(entry.record.work, work) &&
            (!found || registry::better(entry.record, *found)))
            found = &entry.record;
    return found;
}

// Only checks that passed are recorded.
std::vector<verify::Check> checks(const std::vector<registry::Check>& recorded) {
    std::vector<verify::Check> out;
    for (const auto& c : recorded)
        out.push_back({c.distribution,
                       c.seed,
                       {c.eager.largest, c.eager.rms},
                       {c.kernel.largest, c.kernel.rms},
                       true,
                       {}});
    return out;
}
std::vector<registry::Check> checks(const std::vector<verify::Check>& made) {
    std::vector<registry::Check> out;
    for (const auto& c : made)
        out.push_back({c.distribution,
                       c.seed,
                       {c.eager.largest, c.eager.rms},
                       {c.kernel.largest, c.kernel.rms}});
    return out;
}

Realization from_record(const match::Pattern& pattern, const PriorKnowledge& prior) {
    const registry::Record& known = *prior.record;
    Realization r;
    r.family = pattern.family;
    r.kernel = prior.candidate.record.kernel;
    r.key = "registry " + registry::key(known);
    r.realized = r.measured = r.resumed = r.remembered = true;
    r.device = known.work.gpu;
    r.winner = prior.candidate.name;
    r.schedule = prior.candidate.record.schedule;
    r.precision = prior.candidate.record.precision;
    r.text_checks = checks(known.text_checks);
    r.checks = checks(known.checks);
    r.single = known.single;
    r.baseline_single = known.torch_single;
    r.sustained = known.sustained;
    r.baseline_sustained = known.torch_sustained;
    r.note = known.note;
    CandidateResult winner;
    winner.name = r.winner;
    winner.schedule = known.schedule;
    winner.outcome = verify::Outcome::passed;
    winner.single = r.single, winner.baseline_single = r.baseline_single;
    winner.sustained = r.sustained, winner.baseline_sustained = r.baseline_sustained;
    winner.checks = r.checks;
    winner.note = known.proof;
    winner.compile_key = known.toolchain.compile_key;
    winner.cached = true;
    r.candidates = {winner};
    return r;
}

double relative(double own, double torch) {
    return torch > 0 ? own / torch : own;
}

}  // namespace

std::string call_identity(const RealizeOptions& options) {
    auto call = read_call(options);
    return call ? call_identity(std::move(*call), options.precision) : std::string();
}

registry::Work work_of(const match::Pattern& pattern, graph::FusedCall call,
                       const RealizeOptions& options) {
    const auto& p = pattern.problem;
    registry::Work work;
    work.rule = pattern.rule;
    work.text = pattern.kernel;
    work.call = call_identity(std::move(call), options.precision);
    work.dtype = info(p.operands).name;
    work.output = info(p.output).name;
    work.split = p.split;
    work.allow_tf32 = allowed_tf32(pattern, options);
    work.a_along_k = p.a == schedule::Major::k;
    work.b_along_k = p.b == schedule::Major::k;
    work.m = p.m, work.n = p.n, work.k = p.k, work.batch = p.batch;
    work.extents = pattern.extents;
    for (const auto* bindings : {&pattern.params, &pattern.results})
        for (const auto& binding : *bindings) {
            registry::Tensor tensor{binding.tensor, binding.constant, binding.alignment, {}};
            for (const auto& dims : binding.dims)
                tensor.dims.push_back(static_cast<int>(dims.size()));
            work.tensors.push_back(std::move(tensor));
        }
    work.arch = options.arch;
    work.gpu = options.device_name;
    return work;
}

PriorKnowledge recall(const match::Pattern& pattern, const RealizeOptions& options, int limit) {
    PriorKnowledge prior;
    if (!options.registry) return prior;
    auto call = read_call(options);
    if (!call) return prior;
    prior.torch = call->original.torch_version;
    prior.work = work_of(pattern, std::move(*call), options);
    const auto& registry = *options.registry;
    const auto& work = *prior.work;
    // A user's own file has to be measured; without a GPU records only give schedules to start
    // with.
    if (!options.retune && options.also.empty() && options.device != "cpu") {
        auto record = registry.find(work.gpu, registry::key(work, options.toolchain.version));
        if (record && record->effort < limit) record.reset();
        if (!record)
            if (const auto* same = record_of_same_work(registry.known().entries, work, limit))
                record = *same;
        if (record)
            if (auto candidate = recorded_candidate(pattern, *record, options.toolchain)) {
                prior.candidate = std::move(*candidate);
                auto compiled =
                    jit::find_compiled(unit_of(prior.candidate), options.toolchain, options.store);
                if (compiled && record->toolchain.compile_key == compiled->identity() &&
                    record->toolchain.versions == options.toolchain.version &&
                    record->work.call == work.call)
                    prior.compiled = std::move(*compiled);
                prior.record = std::move(record);
                if (prior.compiled) return prior;
            }
    }
    prior.first = registry::neighbour_schedules(registry.known().entries, work);
    return prior;
}

Result<Realization> realize_remembered(const match::Pattern& pattern, const PriorKnowledge& prior,
                                       const RealizeOptions& options) {
    const fs::path folder = fs::absolute(options.run_folder / "kernels" / pattern.family);
    if (auto earlier = earlier_result(folder, options)) {
        const auto winner =
            std::ranges::find(earlier->candidates, earlier->winner, &CandidateResult::name);
        if (winner != earlier->candidates.end() && earlier->measured &&
            earlier->device == options.device_name &&
            winner->compile_key == prior.record->toolchain.compile_key)
            return *earlier;
    }
    Realization r = from_record(pattern, prior);
    r.folder = folder;
    std::error_code ignored;
    fs::remove(folder / "result.json", ignored);
    if (auto written = write_file_atomic(folder / "kernel.fact", pattern.kernel); !written)
        return written.error();
    if (auto kept = write_family_files(r, Winner{prior.candidate, *prior.compiled}); !kept)
        return kept.error();
    return r;
}

bool keeps_promise(const Realization& r, const registry::Record& record) {
    return r.realized && r.measured &&
           relative(r.single.median_us, r.baseline_single.median_us) <=
               kDisappointing * relative(record.single.median_us, record.torch_single.median_us);
}

Result<> remember(const Realization& r, const PriorKnowledge& prior,
                  const std::vector<Candidate>& candidates, const RealizeOptions& options,
                  int effort) {
    // Without a GPU nothing was measured.
    if (options.device == "cpu") return Ok{};
    if (!options.registry || !prior.work || !r.realized || !r.measured || r.resumed) return Ok{};
    const auto winner = std::ranges::find(candidates, r.winner, &Candidate::name);
    const auto result = std::ranges::find(r.candidates, r.winner, &CandidateResult::name);
    // A user's file has no schedule that could be lowered again.
    if (winner == candidates.end() || winner->schedule.empty() || result == r.candidates.end())
        return Ok{};
    registry::Record record;
    record.work = *prior.work;
    record.toolchain = {options.toolchain.version, code_of(*winner, options.toolchain),
                        result->compile_key};
    record.kernel = r.kernel;
    record.schedule = winner->schedule;
    record.precision = r.precision;
    record.effort = effort;
    record.candidates = static_cast<int>(r.candidates.size());
    record.single = r.single, record.torch_single = r.baseline_single;
    record.sustained = r.sustained, record.torch_sustained = r.baseline_sustained;
    record.checks = checks(r.checks);
    record.text_checks = checks(r.text_checks);
    record.note = r.note;
    record.proof = result->note;
    record.provenance = {utc_now(), std::string(kVersion), options.commit, prior.torch};
    if (auto put = options.registry->put(record); !put) return put.error();
    return Ok{};
}

}  // namespace fact::tune
