#include "tune/realize_cuda.h"

#include <algorithm>

#include "support/files.h"
#include "tune/candidates.h"
#include "tune/family_files.h"
#include "tune/search.h"

namespace fact::tune {

namespace {

namespace fs = std::filesystem;

// The CUDA file as a candidate. Its tensors and their alignments are those of the kernel that the
// pattern's text is lowered to: that text declares the tensors, what it computes is ignored.
Result<Candidate> cuda_candidate(const match::Pattern& pattern, const fs::path& file) {
    const auto lowered = schedule_candidates(pattern, 1);
    if (!lowered) return lowered.error();
    const auto usable =
        std::ranges::find_if(*lowered, [](const Candidate& c) { return c.unsupported.empty(); });
    if (usable == lowered->end())
        return Error{"the kernel's tensors cannot be bound: " + lowered->front().unsupported, ""};
    auto candidate = file_candidate(file, usable->record);
    if (!candidate) return candidate;
    candidate->fault.clear();  // only files of the user may ask for a simulated fault
    candidate->record.schedule = "written in CUDA";
    candidate->record.precision = "as written";
    return candidate;
}

// Whether the cubin has a section .text.<entry> for every launch.
bool has_entries(const jit::Artifact& artifact, const Candidate& candidate) {
    const auto cubin = read_file(artifact.cubin);
    return cubin && std::ranges::all_of(candidate.record.launches, [&](const Launch& launch) {
               return cubin->find(".text." + launch.entry + '\0') != std::string::npos;
           });
}

}  // namespace

Result<Realization> realize_cuda(const match::Pattern& pattern, const std::string& source,
                                 const RealizeOptions& options) {
    Realization r;
    r.family = pattern.family;
    r.device = options.device_name;
    r.folder = fs::absolute(options.run_folder / "kernels" / pattern.family);
    const auto unrealized_because = [&](verify::Outcome outcome, std::string why,
                                        CandidateResult result = {}) -> Result<Realization> {
        result.name = "written";
        result.schedule = "written in CUDA";
        result.outcome = outcome;
        result.why = r.why = std::move(why);
        r.candidates = {std::move(result)};
        if (auto kept = write_family_files(r, {}); !kept) return kept.error();
        return r;
    };
    // Nothing can be proved on a CPU, but an earlier proof on a GPU stays valid.
    if (options.device == "cpu")
        if (auto earlier = earlier_result(r.folder, options)) return *earlier;
    const auto file = r.folder / "written.cu";
    // The comment makes file_candidate give the kernel the arguments of kernels/common/plain.cuh.
    if (auto saved = write_file_atomic(file, "// fact-arguments: plain\n" + source); !saved)
        return saved.error();
    const auto candidate = cuda_candidate(pattern, file);
    if (!candidate)
        return unrealized_because(verify::Outcome::unsupported, candidate.error().text());
    const auto compiled = jit::compile_all({unit_of(*candidate)}, options.toolchain, options.store,
                                           1, options.deadlines.compile);
    if (interrupted()) return Error{"interrupted", ""};
    if (!compiled.front())
        return unrealized_because(verify::Outcome::failed_to_build,
                                  compiled.front().error().text());
    if (!has_entries(*compiled.front(), *candidate))
        return unrealized_because(
            verify::Outcome::failed_to_build,
            "it compiles but has no entry point: extern \"C\" __global__ void "
            "FACT_ENTRY(...) is missing");
    if (options.device != "cpu") return realize_candidates(pattern, {*candidate}, options);
    CandidateResult result;
    result.registers = compiled.front()->registers;
    result.spill_bytes = compiled.front()->spill_bytes;
    return unrealized_because(verify::Outcome::untried,
                              "it compiles, and is not verified: there is no GPU",
                              std::move(result));
}

}  // namespace fact::tune
