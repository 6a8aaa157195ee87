// What became of one family of patterns: every candidate's fate, the winner, its checks and times.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "support/result.h"
#include "verify/protocol.h"

namespace fact::tune {

// One candidate kernel and its fate.
struct CandidateResult {
    std::string name;      // "s03", or the stem of a file the user gave
    std::string schedule;  // its spelling; "" for a file the user gave
    verify::Outcome outcome = verify::Outcome::crashed;
    std::string why;                                  // when it did not pass
    verify::Finding finding = verify::Finding::none;  // which check rejected it
    std::string note;                                 // what the proof could not cover
    Times single, baseline_single;
    Times sustained, baseline_sustained;       // of the best few only
    std::vector<verify::LaunchTime> launches;  // of what was proved in full on a GPU
    std::vector<verify::Check> checks;
    double expected_us = 0;   // what the model said; 0: nothing
    double fetched = 0;       // Candidate::fetched
    std::string compile_key;  // jit::Artifact::identity
    double compile_seconds = 0;
    double measure_seconds = 0;  // proofs and timings, all of its turns
    bool cached = false;         // compiled in an earlier run
    int registers = 0, spill_bytes = 0;
    std::string fitness;  // jit::Fitness's name; "" where nothing was compiled
};

struct Realization {
    std::string family, kernel;  // `kernel`: the name in the kernel text
    std::string key;             // what the result follows from: equal key, same work
    bool realized = false;       // a candidate passed, and its files are in `folder`
    std::string why;             // when not
    std::string device;          // "NVIDIA H200", or "cpu": then nothing was timed
    bool measured = false;
    std::string winner, schedule, precision;
    std::filesystem::path folder;  // kernel.fact, kernel.cu, kernel.cubin, record.json, result.json
    std::map<std::string, std::string> files;  // the kernel's, with the SHA-256 of each
    std::string headers;                       // what it was compiled with (jit::Artifact::headers)
    std::vector<verify::Check> text_checks;    // the kernel text, interpreted
    std::vector<verify::Check> checks;         // the winner
    Times single, baseline_single, sustained, baseline_sustained;
    std::vector<CandidateResult> candidates;
    int measurements = 0;        // that the search took
    std::string stopped;         // why it left candidates untried; "" when it tried all
    std::string note;            // how the worker shrank extents, for one
    double seconds = 0;          // in all
    double prepare_seconds = 0;  // of them: the text's check and the oracle's answers
    bool resumed = false;        // read from an earlier run
    bool remembered = false;     // known from another run folder: nothing was done here
};

std::string to_json(const Realization& realization);
Result<Realization> realization_from_json(std::string_view text);
// One line of the journal, newline included.
std::string to_json_line(const std::string& family, const CandidateResult& candidate);

// "9 candidates: 7 passed, 1 incorrect, 1 timed out".
std::string summary(const std::vector<CandidateResult>& candidates);

}  // namespace fact::tune
