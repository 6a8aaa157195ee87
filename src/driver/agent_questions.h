// The questions put to a language model, and the feedback on its texts.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "agent/node_set.h"
#include "driver/loaded_run.h"
#include "match/patterns/pattern.h"

namespace fact::driver {

// A set of operators that is worth a kernel.
struct TargetSet {
    std::string id;
    agent::NodeSet set;
    match::Cost cost;
    double now_us = 0;        // the time of its operators with the kernels found by rules
    bool tell_bounds = true;  // whether the model is told now_us and the bounds
    bool cuda = false;        // whether the model writes CUDA
};

// Asks which sets of operators should become kernels, at most `most` of them.
Result<std::string> find_question(const LoadedRun& loaded, int most, bool tell_bounds = true);

// Asks for a kernel for the set.
Result<std::string> write_question(const LoadedRun& loaded, const TargetSet& wanted);

// Asks for a better kernel, given the reply of the action `write` to the last one. The question is
// complete in itself, since the model may not remember the earlier ones.
Result<std::string> revise_question(const LoadedRun& loaded, const TargetSet& wanted,
                                    const std::string& text, const nlohmann::json& reply);

// The reply of the action `write` in words.
std::string diagnosis(const nlohmann::json& reply, bool tell_bounds = true);

}  // namespace fact::driver
