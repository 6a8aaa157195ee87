// A language model in addition to the rules: it names sets of operators, writes kernels for them,
// and revises what was not accepted. Bounds decide the order of the sets and when to stop.
#pragma once

#include <optional>
#include <string>

#include "driver/environment.h"
#include "driver/realize.h"
#include "driver/run_folder.h"
#include "report/agent.h"
#include "support/result.h"

namespace fact::driver {

struct AgentRequest {
    // "rules" (nobody is asked), "openai:MODEL", "anthropic:MODEL", "command:PROGRAM" or
    // "replay:FILE".
    std::string provider = "rules";
    // The budget: nothing more is asked when one of these is used up.
    int calls = 24;
    int tokens = 200'000;  // in and out
    double seconds = 1800;
    std::optional<report::AgentPrice> price;  // with it, the report says what the model cost
    bool cuda = false;   // the model writes CUDA instead of the kernel language
    bool bounds = true;  // the model is told the bounds
    bool alone = false;  // no rules are used, neither built-in nor learned ones
};

// Whether the provider can be used: the program, the transcript, or the package and the key of an
// API are there. Nothing is asked. Called before any other work.
Result<> check_agent(const Environment& environment, const AgentRequest& request);

// Asks until the budget is spent or no set is worth a question. Accepted kernels join the run's
// patterns (driver/accepted.h); every exchange is appended to agent/transcript.jsonl.
Result<report::Agent> agent_stage(const RunFolder& run, const AgentRequest& request,
                                  const RealizeRequest& realizing);

}  // namespace fact::driver
