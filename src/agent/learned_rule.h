// A proved pattern as a rule for any module: the operators, how they are connected, and the text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/proposal.h"
#include "graph/fused.h"

namespace fact::agent {

struct LearnedRule {
    std::string name;       // the kernel's, with a hash of all but the evidence: "cap_1a2b3c4d5e"
    std::string text;       // the kernel, with symbolic dimensions
    std::string evidence;   // where it was learned and what was measured, for people
    graph::Graph original;  // the operators that the text computes
    // The kernel's names for the original's inputs and outputs, in their order.
    std::vector<std::string> params, results;
};

// The rule for a pattern that bind_text() made for the set.
LearnedRule rule_of(const graph::Graph& graph, const NodeSet& set, const match::Pattern& pattern,
                    std::string evidence);

// Finds the places with the same operators and attributes, connected in the same way, on tensors of
// the same types and ranks, whose extents the text allows: one pattern per place, no two with a
// common operator. Each has to be proved like any other pattern; its rule is "learned".
std::vector<match::Pattern> find_matches(const graph::Graph& graph, const LearnedRule& rule,
                                         const match::Options& options);

std::string to_json(const LearnedRule& rule);
Result<LearnedRule> rule_from_json(std::string_view text);

}  // namespace fact::agent
