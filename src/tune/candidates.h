// The kernels worth trying for a pattern.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "jit/compiler.h"
#include "match/patterns/pattern.h"
#include "support/result.h"
#include "target/launch_record.h"

namespace fact::tune {

struct Candidate {
    std::string name;      // "s03", or the stem of a file the user gave
    std::string schedule;  // its spelling; "" for a file the user gave
    std::string source;    // CUDA; "" when `unsupported` says why there is none
    LaunchRecord record;
    double expected_us = 0;   // by the cost model; 0: not known
    double fetched = 0;       // schedule::fetched_per_output; 0: not known, or K is too small
    std::string unsupported;  // why it cannot be tried; "" if it can
    std::string fault;        // the fault that a user's file simulates on a CPU
    bool from_file = false;   // a user's file: proven in full before it is compared with others
};

// The candidate as input of the compiler.
inline jit::Unit unit_of(const Candidate& candidate) {
    return {candidate.record.kernel + "_" + candidate.name, candidate.source,
            candidate.record.arch};
}

// One candidate per schedule: those that the text names, else those of the table for the problem,
// up to `limit` supported ones (0: all). The schedules spelled in `first` come first, if the text
// allows them.
// An Error says why the text cannot be realized at all.
Result<std::vector<Candidate>> schedule_candidates(const match::Pattern& pattern, int limit,
                                                   const std::vector<std::string>& first = {});

// A CUDA file launched by the record of a scheduled candidate. These macros are defined for it:
// FACT_ENTRY, the last launch's entry; FACT_ENTRIES(X), X(entry) for each launch; FACT_TENSORS, the
// number of tensors including workspaces; FACT_TYPE_0, ..., the element types. Files that it
// includes from its own folder become part of its text. With a comment "fact-arguments: plain" it
// is one launch with the arguments of kernels/common/plain.cuh and one thread block per 4096
// elements of the first output, or per N elements with a comment "fact-per-block: N". A comment
// "fact-fault: NAME" names the fault of torch/simulated_faults.h that it simulates on a CPU.
Result<Candidate> file_candidate(const std::filesystem::path& file, const LaunchRecord& record);

}  // namespace fact::tune
