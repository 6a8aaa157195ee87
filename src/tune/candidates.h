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
    double expected_us = 0;  // what the model says; 0: it knows nothing of it
    double fetched = 0;      // schedule::fetched_per_output of long sums; 0: nothing to go by
    std::string unsupported;
    std::string fault;       // what a file the user gave stands for where there is no GPU
    bool from_file = false;  // nobody vouches for it: proven in full before it is compared
};

// What the compiler is given of it.
inline jit::Unit unit_of(const Candidate& candidate) {
    return {candidate.record.kernel + "_" + candidate.name, candidate.source,
            candidate.record.arch};
}

// The schedules the text itself names, else the table's for the problem, at most `limit` (0: all).
// `first` (spellings) come before the others, as far as the text allows them.
// An Error says why the text cannot be realized at all.
Result<std::vector<Candidate>> schedule_candidates(const match::Pattern& pattern, int limit,
                                                   const std::vector<std::string>& first = {});

// A CUDA file launched by the record of a scheduled candidate. Before it are defined FACT_ENTRY as
// the last launch's entry, FACT_ENTRIES(X) as X(entry) for each launch, FACT_TENSORS as the number
// of tensors with workspaces, and FACT_TYPE_0, ... as the element types. What it includes from its
// own folder becomes part of its text. With a comment "fact-arguments: plain" it is one launch, and
// its arguments are those of kernels/common/plain.cuh, with a block for each 4096 elements of the
// first output, or as many as a comment "fact-per-block: N" says. A comment "fact-fault: NAME" says
// what it stands for on a CPU, where torch/simulated_faults.h knows the name.
Result<Candidate> file_candidate(const std::filesystem::path& file, const LaunchRecord& record);

}  // namespace fact::tune
