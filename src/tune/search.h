// Compiles candidates, verifies and times them in a worker, and picks the best. Candidates are
// measured briefly until the bound or the cost model says that nothing better is left; the best few
// are measured again, for longer and on a hot GPU; and the winner is proved in full.
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
    verify::OpenRequest open;           // the call that the worker prepares
    double hard_us = 0;                 // the hard bound; 0: not known
    double bound_us = 0;                // the calibrated bound; 0: not known
    std::filesystem::path scratch;      // for launch records during the search
    // Called for every new result of a candidate: again if it is measured again, and not at all if
    // it is left untried.
    std::function<void(const CandidateResult&)> finished;
};

struct SearchResult {
    verify::OpenReply opened;               // its `error` says why nothing was tried
    std::vector<CandidateResult> results;   // in the order of the request
    int winner = -1;                        // index; -1: none passed
    int measurements = 0;                   // requested from the worker
    double prepare_seconds = 0;             // the worker's time to open the call
    std::string stopped;                    // why some candidates were not tried; "" if all were
    std::optional<jit::Artifact> artifact;  // the winner's
    verify::CandidateReply best;            // the winner's last measurement, sustained with a GPU
};

// An Error only if nothing could be tried, or on Ctrl-C.
Result<SearchResult> search(const SearchRequest& request, const RealizeOptions& options);

// Searches, and writes the winner's files and result.json to kernels/<family>. If an earlier run
// left a result with the same key there, that result is returned without a search.
Result<Realization> realize_candidates(const match::Pattern& pattern,
                                       const std::vector<Candidate>& candidates,
                                       const RealizeOptions& options);

// A hash of everything that the result of these candidates depends on. Sources, skeletons and the
// compiler are part of it through the compile keys.
std::string result_key(const match::Pattern& pattern, const std::vector<Candidate>& candidates,
                       const RealizeOptions& options);

}  // namespace fact::tune
