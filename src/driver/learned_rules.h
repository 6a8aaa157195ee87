// Learned rules on disk: rules/ in the user's registry and in what FACT ships.
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
    bool own = false;  // in the folder that is written to
};

// Those that can be read, by name; what cannot is passed over and named in `damaged`.
std::vector<StoredRule> learned_rules(const registry::Folders& folders,
                                      std::vector<std::string>* damaged = nullptr);

Result<> learn(const registry::Folders& folders, const agent::LearnedRule& rule);
// An Error where the user's own registry has no rule of that name.
Result<> forget(const registry::Folders& folders, const std::string& name);

// Adds what the rules find to what the built-in ones found; a set of operators that is a pattern
// already stays one.
void add_learned(const std::vector<StoredRule>& rules, const graph::Graph& graph,
                 const match::Options& options, match::Discovery& discovery);

}  // namespace fact::driver
