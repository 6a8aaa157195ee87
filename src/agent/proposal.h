// A set of operators and a kernel text for them, as a pattern like those that rules find.
#pragma once

#include <string>

#include "agent/bind.h"
#include "match/patterns/pattern.h"
#include "match/text/cost.h"
#include "support/diagnostics.h"

namespace fact::agent {

// The least work of a kernel for the set, and the time of its operators one by one.
match::Cost cost_of(const graph::Graph& graph, const NodeSet& set, const match::Options& options);

// "a_" and a hash of the operators: the same set is always the same proposal.
std::string proposal_id(const graph::Graph& graph, const NodeSet& set);

// A text for a set as a pattern, whose id is the proposal's, and the kernels it is cut into.
struct Authored {
    match::Pattern pattern;
    std::vector<match::StageCost> stages;
};

// Mistakes in the text itself are diagnostics, and the Error then only says so; other Errors say
// what does not fit. An output that depends on no input is taken for an attempt to game the checks.
// `interface` gives the tensors other names than interface_of does; nullptr: those of interface_of.
Result<Authored> author(const graph::Graph& graph, const NodeSet& set, const std::string& text,
                        const match::Options& options, Diagnostics& diagnostics,
                        const Interface* interface = nullptr);

}  // namespace fact::agent
