// Which fused patterns pay in the whole module: each one left out, measured beside all together.
#pragma once

#include "driver/compose.h"

namespace fact::driver {

// Takes out of the plan the families without which the module is faster. Does nothing without a
// GPU, or when the source is not known.
Result<> ablate_stage(const Environment& environment, const RunFolder& run,
                      const Settings& settings, const Discovered& found,
                      const Realizations& realizations, Plan& plan);

}  // namespace fact::driver
