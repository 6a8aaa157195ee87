// What a language model did in a run, what it cost, and what it brought.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "support/times.h"

namespace fact::report {

// Dollars for a million tokens.
struct AgentPrice {
    double in = 0, out = 0;
    bool operator==(const AgentPrice&) const = default;
};

// What some questions cost.
struct AgentUse {
    int calls = 0, failed = 0;          // failed: of those, without an answer
    int tokens_in = 0, tokens_out = 0;  // estimated where nobody counted them
    double seconds = 0;                 // of waiting for answers
    int other_prompts = 0;              // answers replayed that were given to other prompts

    AgentUse& operator+=(const AgentUse& other);
    int tokens() const { return tokens_in + tokens_out; }
    double dollars(const AgentPrice& price) const {
        return 1e-6 * (tokens_in * price.in + tokens_out * price.out);
    }
};

struct AgentStage {
    std::string name;  // "find", "write", "revise", "compose"
    AgentUse use;
};

// One text that was written for a set of operators.
struct AgentText {
    bool accepted = false;
    double time_us = 0;  // 0 where it was not timed
    int tokens = 0;      // that it cost
};

// One set of operators.
struct AgentRow {
    std::string id, where, outcome;  // "accepted", or why not
    int operators = 0;
    std::vector<AgentText> texts = {};
    bool first_compiled = false;                   // its first text had no mistakes
    bool verified = false;                         // its kernel ran on a GPU and passed
    bool composed = false;                         // the package has it
    double now_us = 0, bound_us = 0, time_us = 0;  // time_us: 0 where nothing was timed
    AgentUse use = {};
    bool accepted() const { return outcome == "accepted"; }
};

// The whole module as it was, with the package, and with the best package without the model.
struct AgentBrought {
    Times eager, composed, rules;
    double saved_us() const { return rules.median_us - composed.median_us; }
    double share() const { return saved_us() / eager.median_us; }  // of eager's time
};

struct Agent {
    std::string provider;             // "" where no model was asked
    std::string writes = "language";  // or "cuda"
    bool bounds = true;               // whether it was told what they allow
    std::optional<AgentPrice> price;
    std::vector<AgentStage> stages;  // in the order of their first question
    int retries = 0;   // questions asked again: no answer, one of no use, or one that can be better
    int named = 0;     // sets of operators in its answer
    int refused = 0;   // of those, that cannot be a kernel or are not worth it
    int accepted = 0;  // with a proved kernel
    std::string stopped;  // why no more was asked
    double elapsed = 0;   // seconds of its stages so far, proofs of its texts included
    std::vector<AgentRow> rows;
    // Sets of patterns that it named for the composition, and what became of each.
    std::vector<std::string> compositions;
    std::optional<AgentBrought> brought;  // nothing where the whole module was not measured

    AgentUse total() const;
    AgentUse& stage(const std::string& name);  // a new one where there was none
    int first_compiled() const;
    int verified() const;
    int composed() const;
};

std::string to_text(const Agent& agent);
nlohmann::json json_of(const Agent& agent);

// "$0.0123": at least three digits that count.
std::string dollars_text(double dollars);

}  // namespace fact::report
