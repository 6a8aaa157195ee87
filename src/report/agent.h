// What a language model did in a run, and what it cost.
#pragma once

#include <string>
#include <vector>

namespace fact::report {

struct AgentRow {
    std::string id, where, outcome;  // "accepted", or why not
    int operators = 0, attempts = 0;
    bool first_compiled = false;                   // its first text had no mistakes
    double now_us = 0, bound_us = 0, time_us = 0;  // time_us: 0 where nothing was timed
    int tokens = 0;                                // in and out
};

struct Agent {
    std::string provider;  // "" where no model was asked
    int calls = 0, failed_calls = 0;
    int tokens_in = 0, tokens_out = 0;
    double seconds = 0;   // of waiting for answers
    int named = 0;        // sets of operators in its answer
    int refused = 0;      // of those, that cannot be a kernel or are not worth it
    int accepted = 0;     // with a proved kernel
    std::string stopped;  // why no more was asked
    std::vector<AgentRow> rows;
};

std::string to_text(const Agent& agent);
std::string to_json(const Agent& agent);

}  // namespace fact::report
