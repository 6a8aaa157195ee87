// The last question to a model: which other sets of patterns may make a faster package. The sets
// that it names are measured.
#pragma once

#include "driver/agent_stage.h"
#include "driver/compose.h"
#include "report/ablation.h"

namespace fact::driver {

// Asks once, if the whole module was measured and the plan leaves out patterns that have kernels. A
// set that measures faster becomes the plan; one that cannot be composed or timed is noted, and the
// plan stays.
Result<> compose_with_agent(const Environment& environment, const RunFolder& run,
                            const Settings& settings, const Discovered& found,
                            const Realizations& realizations, report::Ablation& ablation,
                            const AgentRequest& request, report::Agent& agent, Plan& plan);

// The question, which asks for at most `most` sets; "" if the plan leaves out no pattern whose
// kernel is faster than torch.
Result<std::string> compose_question(const Environment& environment, const Discovered& found,
                                     const Realizations& realizations,
                                     const report::Ablation& ablation, const Plan& plan, int most);

}  // namespace fact::driver
