// The protocol between the tuner and the torch worker: one JSON object per line in both directions.
// A request is {"open": {...}}, {"candidate": {...}} or {"close": {}}, which frees what the open
// call holds on the GPU; a reply is the object itself, {} to the last. Before it replies, the
// worker may ask {"turn": "exclusive"}, to time something alone on the GPU, or {"turn": "shared"},
// when it has, or to let others go first; it has nothing running there, and goes on after {}.
// to_json returns a line without its newline.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"
#include "support/shared_lock.h"
#include "support/times.h"
#include "target/torch_precision.h"
#include "verify/finding.h"

namespace fact::verify {

enum class Outcome { passed, incorrect, failed_to_build, timed_out, crashed, unsupported, untried };
std::string_view name(Outcome outcome);
std::optional<Outcome> outcome_from_name(std::string_view name);

// Errors of an output against f64.
struct ErrorPair {
    double largest = 0;  // the largest error, relative to the output's largest magnitude
    double rms = 0;      // the root mean square error, relative to the output's root mean square
};

// One check: a seed and a distribution of inputs.
struct Check {
    std::string distribution;  // "normal", "large", "positive", "zero_tail", ...
    int seed = 0;
    ErrorPair eager, kernel;  // each for its worst output
    bool passed = false;
    std::string why;  // why it did not pass
    // The largest error of a part of an output (a row, a column, elements of one magnitude), as a
    // share of the error allowed there.
    double slice = 0;
};

// Prepares inputs, the oracle and the baseline for one fused call.
struct OpenRequest {
    std::string call;         // path of the FusedCall's JSON
    std::string kernel_text;  // path of the kernel text
    // Path of the model's archive, or "". Buffers among the call's constants are read from it,
    // since a mask of zeros and ones must not become noise. Parameters are random.
    std::string weights;
    std::string device = "cpu";
    // The user's setting, under which the baseline is timed. Proofs compare with torch in the
    // precision that the text claims.
    TorchPrecision precision;
    bool check_text = true;  // run the interpreter against the oracle (on the CPU, shrunk)
    // A model or a person wrote the text for this very call: it must not contain the values of
    // buffers, nor omit what ordinary inputs do not reach.
    bool authored = false;
};
struct OpenReply {
    std::string error;  // "" or why the call cannot be prepared
    std::vector<Check> text_checks;
    std::string note;  // e.g. how extents were shrunk
};

// How much of the proof of docs/verification.md a candidate goes through. `quick` is enough to rank
// candidates; a kernel that is used went through all of it.
enum class Proof { quick, full };

// Verifies a compiled kernel against the oracle and times it beside the baseline.
struct CandidateRequest {
    std::string cubin, record;  // paths
    // How long to measure single launches and, if not 0, back-to-back ones: kernel and baseline in
    // turns.
    double single_ms = 600, sustained_ms = 0;
    std::string fault;  // tests only, on the CPU: "hang", "crash", or a simulated fault
    Proof proof = Proof::full;
};
// One launch of the kernel, timed with a wait before the next: the sum may exceed the call's time.
struct LaunchTime {
    std::string entry;  // Launch::entry
    double us = 0;
};
struct CandidateReply {
    Outcome outcome = Outcome::crashed;
    std::string why;
    std::vector<Check> checks;
    Times single, baseline_single, sustained, baseline_sustained;
    Finding finding = Finding::none;        // which check rejected it; `why` begins with its name
    std::string note;                       // the other sizes it was proved at, or why at none
    std::vector<LaunchTime> launches = {};  // only with a full proof on a GPU
};

std::string to_json(const OpenRequest&);
std::string to_json(const OpenReply&);
std::string to_json(const CandidateRequest&);
std::string to_json(const CandidateReply&);
nlohmann::json json_of(const CandidateReply&);
// Whether the line opens a call (else it names a candidate).
bool is_open_request(std::string_view line);
std::string close_request();
bool is_close_request(std::string_view line);
std::string turn_request(LockKind kind);
// nullopt if the line asks for no turn.
std::optional<LockKind> turn_requested(std::string_view line);
inline constexpr std::string_view kTurnGiven = "{}";
Result<OpenRequest> open_request_from_json(std::string_view);
Result<OpenReply> open_reply_from_json(std::string_view);
Result<CandidateRequest> candidate_request_from_json(std::string_view);
Result<CandidateReply> candidate_reply_from_json(std::string_view);
// Throws SchemaError.
CandidateReply candidate_reply_from(const nlohmann::json&);

}  // namespace fact::verify
