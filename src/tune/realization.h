// The result for one family of patterns: every candidate's outcome, the winner, its checks and
// times.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "support/result.h"
#include "verify/protocol.h"

namespace fact::tune {

// One candidate kernel and its outcome.
struct CandidateResult {
    std::string name;      // "s03", or the stem of a file the user gave
    std::string schedule;  // its spelling; "" for a file the user gave
    verify::Outcome outcome = verify::Outcome::crashed;
    std::string why;                                  // why it did not pass
    verify::Finding finding = verify::Finding::none;  // which check rejected it
    std::string note;  // the other sizes it was proved at, or why at none
    Times single, baseline_single;
    Times sustained, baseline_sustained;       // only for the best few
    std::vector<verify::LaunchTime> launches;  // only if proved in full on a GPU
    std::vector<verify::Check> checks;
    double expected_us = 0;   // by the cost model; 0: not known
    double fetched = 0;       // Candidate::fetched
    std::string compile_key;  // jit::Artifact::identity
    double compile_seconds = 0;
    double measure_seconds = 0;  // proofs and timings, all together
    bool cached = false;         // compiled in an earlier run
    int registers = 0, spill_bytes = 0;
    std::string fitness;  // jit::Fitness's name; "": not compiled
};

struct Realization {
    std::string family, kernel;  // `kernel`: the name in the kernel text
    std::string key;             // a hash of everything the result depends on
    bool realized = false;       // a candidate passed, and its files are in `folder`
    std::string why;             // why it was not realized
    std::string device;          // "NVIDIA H200", or "cpu": then nothing was timed
    bool measured = false;       // the winner was timed
    std::string winner, schedule, precision;
    bool exact_instead = false;    // the text's TF32 was not as accurate as torch is (exact_text.h)
    bool from_file = false;        // the winner is a CUDA file, which was proved on dense tensors
    std::filesystem::path folder;  // kernel.fact, kernel.cu, kernel.cubin, record.json, result.json
    std::map<std::string, std::string> files;  // the kernel's files with their SHA-256
    std::string headers;                       // jit::Artifact::headers of the winner
    std::vector<verify::Check> text_checks;    // the kernel text, interpreted
    std::vector<verify::Check> checks;         // the winner
    Times single, baseline_single, sustained, baseline_sustained;
    std::vector<CandidateResult> candidates;
    int measurements = 0;        // made by the search
    std::string stopped;         // why the search left candidates untried; "" if it tried all
    std::string note;            // for example how the worker shrank extents
    double seconds = 0;          // in total
    double prepare_seconds = 0;  // part of `seconds`: checking the text and running the oracle
    bool resumed = false;        // taken from an earlier run: nothing was measured in this one
    bool remembered = false;     // taken from the registry or the artifact store
};

std::string to_json(const Realization& realization);
Result<Realization> realization_from_json(std::string_view text);
// One line of the journal, newline included.
std::string to_json_line(const std::string& family, const CandidateResult& candidate);

// The precision, and whether it is another than the text asks for: "f32 for tf32".
std::string precision_text(const Realization& realization);
// "9 candidates: 7 passed, 1 incorrect, 1 timed out".
std::string summary(const std::vector<CandidateResult>& candidates);

}  // namespace fact::tune
