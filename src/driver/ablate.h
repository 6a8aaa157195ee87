// Which fused patterns pay in the whole module: each family alone, each one left out, and with what
// overlaps it in its place, measured beside all together and beside the original.
#pragma once

#include "driver/compose.h"
#include "report/ablation.h"

namespace fact::driver {

// Takes out of the plan the families without which the module is faster, or faster with what else
// there is in their place, or as fast with fewer kernels (all such changes together unless the best
// of them is faster, which is measured then), and gives what was measured. Does nothing without a
// GPU, or when the source is not known. `module`: what the module was built from, so that other
// runs of it know the times; "" keeps them to the run folder.
Result<report::Ablation> ablate_stage(const Environment& environment, const RunFolder& run,
                                      const Settings& settings, const Discovered& found,
                                      const Realizations& realizations, const std::string& module,
                                      Plan& plan);

}  // namespace fact::driver
