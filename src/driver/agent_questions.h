// What a language model is asked, and what it is told about its texts.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "agent/node_set.h"
#include "driver/desk.h"
#include "match/patterns/pattern.h"

namespace fact::driver {

// A set that is worth a kernel.
struct Wanted {
    std::string id;
    agent::NodeSet set;
    match::Cost cost;
    double now_us = 0;        // what its operators take as the rules leave them
    bool tell_bounds = true;  // whether the model is told these times
    bool cuda = false;        // whether it writes CUDA
};

// Which sets of operators should be kernels, at most `most` of them.
Result<std::string> find_question(const Desk& desk, int most, bool tell_bounds = true);

// A kernel for the set.
Result<std::string> write_question(const Desk& desk, const Wanted& wanted);

// Another one, after what the action `write` replied to the last. It stands for itself: who answers
// may remember nothing.
Result<std::string> revise_question(const Desk& desk, const Wanted& wanted, const std::string& text,
                                    const nlohmann::json& reply);

// That reply in words.
std::string diagnosis(const nlohmann::json& reply, bool tell_bounds = true);

}  // namespace fact::driver
