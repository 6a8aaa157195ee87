// Which fused patterns pay off in the whole module. Times the original module, the module with all
// patterns, and for each family of patterns the module with that family alone, without it, and with
// overlapping patterns in its place.
#pragma once

#include "driver/compose.h"
#include "report/ablation.h"

namespace fact::driver {

// Removes families from the plan, or replaces them by patterns that overlap them, if that makes the
// module faster, or leaves it as fast with fewer patterns. If several changes help, all of them
// together are measured against the best single one. Removes everything if the original module is
// faster. Returns what was measured; does nothing without a GPU, or if the run began with an
// archive, so that the module's source is not known. `module` identifies what the module was built
// from, so that other runs can reuse the times; if it is "", the times stay in the run folder.
// `brief`: differences are found in few runs, so that small ones may count as none.
Result<report::Ablation> ablate_stage(const Environment& environment, const RunFolder& run,
                                      const Settings& settings, const Discovered& found,
                                      const Realizations& realizations, const std::string& module,
                                      Plan& plan, bool brief = false);

}  // namespace fact::driver
