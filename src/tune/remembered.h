// What the registry knows of a pattern, and what it is told.
//
// How far a record is believed:
//   the same work, subgraph, compiler and code    nothing is done again where its cubin is at hand
//   the same, but another compiler or subgraph,
//   or no cubin                                   it alone is compiled, verified and measured
//   other code of FACT's, other extents           its schedule is tried first
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/fused.h"
#include "registry/record.h"
#include "tune/candidates.h"
#include "tune/realize.h"

namespace fact::tune {

// The pattern, with the subgraph that it is checked against, as the registry files it.
registry::Work work_of(const match::Pattern& pattern, graph::FusedCall call,
                       const RealizeOptions& options);

// The torch subgraph of the options' call, how the kernel is bound to it and how torch adds up
// 16-bit products, where that is not its default, as a hash that no name is part of; "" where the
// call cannot be read.
std::string call_identity(const RealizeOptions& options);

// Whether TF32 is allowed where the pattern multiplies.
inline bool allowed_tf32(const match::Pattern& pattern, const RealizeOptions& options) {
    return options.precision.tf32.in(pattern.convolution);
}

struct Memory {
    std::optional<registry::Work> work;  // nothing without a registry, or where there is no call
    std::string torch;                   // version that traced the subgraph
    // A record of exactly this work whose search was as wide as this one would be, and the
    // candidate that its schedule still gives.
    std::optional<registry::Record> record;
    Candidate candidate;
    // The record's cubin, where everything is as it was and nothing has to be done again.
    std::optional<jit::Artifact> compiled;
    std::vector<std::string> first;  // schedules to try before others
};

// `limit`: how many candidates a search would take. Nothing is known without a registry.
Memory recall(const match::Pattern& pattern, const RealizeOptions& options, int limit);

// The family's files and result from a record with its cubin; an earlier result of the same kernel
// in the run folder is read instead, since it also tells of the candidates that lost.
Result<Realization> realize_remembered(const match::Pattern& pattern, const Memory& memory,
                                       const RealizeOptions& options);

// Whether a kernel that was measured again keeps what its record promised, relative to torch.
bool keeps_promise(const Realization& r, const registry::Record& record);

// Puts a measured result into the registry. `effort`: how wide the search was.
Result<> remember(const Realization& r, const Memory& memory,
                  const std::vector<Candidate>& candidates, const RealizeOptions& options,
                  int effort);

}  // namespace fact::tune
