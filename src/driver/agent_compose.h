// Stage 3 of a model's work: other sets of patterns for the composition. Measuring decides.
#pragma once

#include "driver/agent_stage.h"
#include "driver/compose.h"
#include "report/ablation.h"

namespace fact::driver {

// Asks once, where the whole module was measured and there is something to choose from: patterns
// with kernels that the plan leaves out. A set that is measured to be faster becomes the plan;
// one that cannot be composed or timed is noted, and the plan stays.
Result<> compose_with_agent(const Environment& environment, const RunFolder& run,
                            const Settings& settings, const Discovered& found,
                            const Realizations& realizations, report::Ablation& ablation,
                            const AgentRequest& request, report::Agent& agent, Plan& plan);

// The question; "" where there is nothing to choose from.
Result<std::string> compose_question(const Environment& environment, const Discovered& found,
                                     const Realizations& realizations,
                                     const report::Ablation& ablation, const Plan& plan, int most);

}  // namespace fact::driver
