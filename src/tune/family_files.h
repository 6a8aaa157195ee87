// The files of a realized family in the run folder: kernel.fact, kernel.cu, kernel.cubin,
// record.json, and result.json with the hashes of the others.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "jit/compiler.h"
#include "tune/candidates.h"
#include "tune/realization.h"
#include "tune/realize.h"

namespace fact::tune {

// Which of the kernel's files is missing or has changed since it was verified; "" if none.
std::string damage(const Realization& r);

// The result of an earlier run in a family's folder; nullopt if one of its files or a header that
// the kernel was compiled with has changed.
std::optional<Realization> earlier_result(const std::filesystem::path& folder,
                                          const RealizeOptions& options);

// The winner and its compiled form.
struct Winner {
    const Candidate& candidate;
    const jit::Artifact& artifact;
};
// Writes the winner's files, except kernel.fact, which is there already, and then result.json.
// Without a winner, result.json alone.
Result<> write_family_files(Realization& r, const std::optional<Winner>& winner);

}  // namespace fact::tune
