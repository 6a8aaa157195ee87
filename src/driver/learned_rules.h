// Learned rules on disk: rules/ in the user's registry and in the one that FACT ships.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "agent/learned_rule.h"
#include "registry/store.h"

namespace fact::driver {

struct StoredRule {
    agent::LearnedRule rule;
    std::filesystem::path file;
    bool own = false;  // in the user's registry
};

// All rules, sorted by name; files that cannot be read are skipped and listed in `damaged`.
std::vector<StoredRule> learned_rules(const registry::Folders& folders,
                                      std::vector<std::string>* damaged = nullptr);

// Writes the rule to the user's registry; one with the same name is replaced.
Result<> learn(const registry::Folders& folders, const agent::LearnedRule& rule);
// An Error if the user's registry has no rule of that name.
Result<> forget(const registry::Folders& folders, const std::string& name);

// Adds what learned rules find to what the built-in ones found, unless the same set of operators is
// a pattern already.
void add_learned(const std::vector<StoredRule>& rules, const graph::Graph& graph,
                 const match::Options& options, match::Discovery& discovery);

}  // namespace fact::driver
