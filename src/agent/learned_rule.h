// A proved pattern as a rule for any module: the operators, how they hang together, and the text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/proposal.h"
#include "graph/fused.h"

namespace fact::agent {

struct LearnedRule {
    std::string name;      // of its kernel, with a hash of the rest: "softcap_1a2b3c4d5e"
    std::string text;      // the kernel, its dimensions symbols
    std::string evidence;  // where it was learned and what was measured, for people
    graph::Graph original;
    // What the kernel calls the original's inputs and outputs, in their order.
    std::vector<std::string> params, results;
};

// Of a pattern that bind() made for the set.
LearnedRule rule_of(const graph::Graph& graph, const NodeSet& set, const match::Pattern& pattern,
                    std::string evidence);

// The same operators, with the same attributes, hanging together in the same way, their tensors of
// the same types and ranks: a pattern for each place whose extents the text takes. No two share an
// operator. Each has to be proved like any other pattern; its rule is "learned".
std::vector<match::Pattern> find_matches(const graph::Graph& graph, const LearnedRule& rule,
                                         const match::Options& options);

std::string to_json(const LearnedRule& rule);
Result<LearnedRule> rule_from_json(std::string_view text);

}  // namespace fact::agent
