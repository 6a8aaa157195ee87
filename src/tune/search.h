// Compiles candidates, verifies and times them in a worker, picks the best. Successive halving: all
// are measured briefly until the bound or the model says that nothing better is to come, the best
// few of them longer and on a hot GPU, and the winner is proven in full.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tune/candidates.h"
#include "tune/ranking.h"
#include "tune/realize.h"
#include "tune/session.h"

namespace fact::tune {

struct SearchRequest {
    std::vector<Candidate> candidates;  // most promising first
    verify::OpenRequest open;
    double hard_us = 0;                                    // nothing real is faster; 0: not known
    double bound_us = 0;                                   // the calibrated one; 0: not known
    std::filesystem::path scratch;                         // for records while they are tried
    std::function<void(const CandidateResult&)> finished;  // as each one's fate is known
};

struct SearchResult {
    verify::OpenReply opened;               // its error says why nothing was tried
    std::vector<CandidateResult> results;   // as in the request
    int winner = -1;                        // index, or none passed
    int measurements = 0;                   // asked of the worker
    double prepare_seconds = 0;             // that the worker took to open the call
    std::string stopped;                    // why some were not tried; "" when all were
    std::optional<jit::Artifact> artifact;  // the winner's
    verify::CandidateReply best;            // the winner's last measurement, sustained with a GPU
};

// An Error only where nothing could be tried, or on Ctrl-C.
Result<SearchResult> search(const SearchRequest& request, const RealizeOptions& options);

// Searches, and keeps the winner's files and result.json in kernels/<family>; what an earlier run
// finished with the same key is read instead.
Result<Realization> realize_candidates(const match::Pattern& pattern,
                                       const std::vector<Candidate>& candidates,
                                       const RealizeOptions& options);

// Everything the result of these candidates follows from: equal key, same work. The compile keys
// stand for sources, skeletons and compiler.
std::string result_key(const match::Pattern& pattern, const std::vector<Candidate>& candidates,
                       const RealizeOptions& options);

}  // namespace fact::tune
