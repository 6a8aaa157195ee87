// The run's results gathered into the one-page report.
#pragma once

#include "driver/compose.h"
#include "report/report.h"

namespace fact::driver {

// `cats`: what became of the module's cats in the package.
report::Report summarize(const Environment& environment, const Settings& settings,
                         const Discovered& found, const Realizations& realizations,
                         const Plan& plan, const std::vector<compose::WrittenCat>& cats = {});

// Fills in which of the model's kernels were verified and are in the package, and what they gained.
void credit_agent(report::Report& report);

}  // namespace fact::driver
