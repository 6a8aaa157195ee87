// A language model beside the rules: it names sets of operators, writes kernels for them, and
// revises what was not accepted. Bounds order the work and end it.
#pragma once

#include <optional>
#include <string>

#include "driver/realize.h"
#include "driver/run_folder.h"
#include "report/agent.h"
#include "support/result.h"

namespace fact::driver {

struct AgentRequest {
    // "rules" (nobody is asked), "openai:MODEL", "anthropic:MODEL", "command:PROGRAM" or
    // "replay:FILE".
    std::string provider = "rules";
    int calls = 24;
    int tokens = 200'000;  // in and out
    double seconds = 1800;
    std::optional<report::AgentPrice> price;
    bool cuda = false;   // it writes CUDA instead of the kernel language
    bool bounds = true;  // it is told what the bounds allow
    bool alone = false;  // nothing is found by rules, built in or learned
};

// Whether the provider can be used; before any other work.
Result<> check_agent(const AgentRequest& request);

// Asks until the budget is spent or nothing is worth asking. What is accepted joins the run's
// patterns (driver/accepted.h); every exchange is kept in agent/transcript.jsonl.
Result<report::Agent> agent_stage(const RunFolder& run, const AgentRequest& request,
                                  const RealizeRequest& realizing);

}  // namespace fact::driver
