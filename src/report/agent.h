// What a language model did in a run, what it cost, and what was gained.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "support/times.h"

namespace fact::report {

// Dollars per million tokens.
struct AgentPrice {
    double in = 0, out = 0;
    bool operator==(const AgentPrice&) const = default;
};

// What a number of questions to the model cost.
struct AgentUse {
    int calls = 0, failed = 0;          // failed: calls without an answer
    int tokens_in = 0, tokens_out = 0;  // estimated if the provider did not count them
    double seconds = 0;                 // spent waiting for answers
    int other_prompts = 0;              // replayed answers that were recorded for other prompts

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
    double time_us = 0;  // 0: not timed
    int tokens = 0;      // of the questions and answers that led to it
};

// One set of operators that the model named.
struct AgentRow {
    std::string id, where;
    std::string outcome;  // "accepted", or why not
    int operators = 0;    // in the set
    std::vector<AgentText> texts = {};
    bool first_compiled = false;  // its first text had no mistakes
    bool verified = false;        // its kernel ran on a GPU and passed
    bool composed = false;        // the package has it
    // The operators' time without a kernel, their bound, and the kernel's time (0: not timed).
    double now_us = 0, bound_us = 0, time_us = 0;
    AgentUse use = {};
    bool accepted() const { return outcome == "accepted"; }
};

// Times of the original module, of the package, and of the best package without the model.
struct AgentGain {
    Times eager, composed, rules;
    double saved_us() const { return rules.median_us - composed.median_us; }
    double share() const { return saved_us() / eager.median_us; }  // of eager's time
};

struct Agent {
    std::string provider;             // "": no model was asked
    std::string writes = "language";  // or "cuda"
    bool bounds = true;               // whether it was told the bounds
    std::optional<AgentPrice> price;
    std::vector<AgentStage> stages;  // in the order of their first question
    int retries = 0;      // questions asked again: the answer was missing, useless or improvable
    int named = 0;        // sets of operators in the model's answers
    int refused = 0;      // of the named sets: cannot be a kernel, or not worth one
    int accepted = 0;     // of the named sets: got a proved kernel
    std::string stopped;  // why no more was asked
    double elapsed = 0;   // seconds of the stages so far, including the proofs of texts
    std::vector<AgentRow> rows;
    // Sets of patterns that it named for the composition, and what became of each.
    std::vector<std::string> compositions;
    std::optional<AgentGain> brought;  // nullopt: the whole module was not measured

    AgentUse total() const;
    AgentUse& stage(const std::string& name);  // adds it if it is new
    int first_compiled() const;
    int verified() const;
    int composed() const;
};

std::string to_text(const Agent& agent);
nlohmann::json json_of(const Agent& agent);

// "$0.0123": at least three significant digits.
std::string dollars_text(double dollars);

}  // namespace fact::report
