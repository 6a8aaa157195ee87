// Reads the registry's record of a pattern, and writes new ones.
//
// How much a record saves:
//   same work, subgraph, compiler and FACT code,
//   and its cubin is available                    everything
//   the same, but another compiler or subgraph,   only the recorded kernel is compiled, verified
//   or no cubin                                   and measured; no search
//   other FACT code or other extents              its schedule is tried first
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/fused.h"
#include "registry/record.h"
#include "tune/candidates.h"
#include "tune/realize.h"

namespace fact::tune {

// The pattern and the subgraph that it is checked against, as the registry describes them.
registry::Work work_of(const match::Pattern& pattern, graph::FusedCall call,
                       const RealizeOptions& options);

// A hash of the torch subgraph of the options' call, of how the kernel is bound to it and, if it is
// not torch's default, of how torch accumulates 16-bit products. Independent of names; "" if the
// call cannot be read.
std::string call_identity(const RealizeOptions& options);

// Whether the pattern's products or convolutions may use TF32.
inline bool allowed_tf32(const match::Pattern& pattern, const RealizeOptions& options) {
    return options.precision.tf32.in(pattern.convolution);
}

// What the registry knows of a pattern.
struct PriorKnowledge {
    std::optional<registry::Work> work;  // nullopt without a registry or a call
    std::string torch;                   // the version of torch that traced the subgraph
    // A record of exactly this work whose search was as wide as this one would be, and the
    // candidate with its schedule.
    std::optional<registry::Record> record;
    Candidate candidate;
    // The record's cubin, if nothing has changed and nothing has to be done again.
    std::optional<jit::Artifact> compiled;
    std::vector<std::string> first;  // spellings of schedules to try before others
};

// `limit`: how many candidates a search would consider.
PriorKnowledge recall(const match::Pattern& pattern, const RealizeOptions& options, int limit);

// Writes the family's files and result from a record and its cubin. An earlier result of the same
// kernel in the run folder is preferred, since it also has the candidates that lost.
Result<Realization> realize_remembered(const match::Pattern& pattern, const PriorKnowledge& prior,
                                       const RealizeOptions& options);

// Whether a kernel, measured again, is about as fast relative to torch as its record says.
bool keeps_promise(const Realization& r, const registry::Record& record);

// Puts a measured result into the registry. `effort`: the candidate_limit of the search that found
// its kernel.
Result<> remember(const Realization& r, const PriorKnowledge& prior,
                  const std::vector<Candidate>& candidates, const RealizeOptions& options,
                  int effort);

}  // namespace fact::tune
