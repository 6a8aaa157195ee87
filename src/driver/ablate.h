// Which fused patterns pay in the whole module: each family alone, each one left out, and with what
// overlaps it in its place, measured beside all together and beside the original.
#pragma once

#include "driver/compose.h"
#include "report/ablation.h"

namespace fact::driver {

// Takes out of the plan the families without which the module is faster, or faster with what else
// there is in their place (all such changes together unless the best of them is faster, which is
// measured then), or as fast with fewer patterns; all of them where the module as it was is faster.
// Gives what was measured. Does nothing without a GPU, or when the source is not known. `module`:
// what the module was built from, so that other runs of it know the times; "" keeps them to the run
// folder.
Result<report::Ablation> ablate_stage(const Environment& environment, const RunFolder& run,
                                      const Settings& settings, const Discovered& found,
                                      const Realizations& realizations, const std::string& module,
                                      Plan& plan);

}  // namespace fact::driver
