// The files of a realized family in the run folder: kernel.fact, kernel.cu, kernel.cubin,
// record.json, and result.json, which says what the others' content is.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "jit/compiler.h"
#include "tune/candidates.h"
#include "tune/realization.h"
#include "tune/realize.h"

namespace fact::tune {

// What is wrong with the kernel's files: missing, or not what was verified; "" when nothing is.
std::string damage(const Realization& r);

// What an earlier run left in a family's folder, where all of its files are as it left them and no
// header that the kernel was made with has changed.
std::optional<Realization> finished_before(const std::filesystem::path& folder,
                                           const RealizeOptions& options);

// The winner and what was compiled of it.
struct Winner {
    const Candidate& candidate;
    const jit::Artifact& artifact;
};
// Writes the winner's files, beside a kernel.fact that is there, and then result.json. Without a
// winner result.json alone.
Result<> keep(Realization& r, const std::optional<Winner>& winner);

}  // namespace fact::tune
