// The run's results gathered into the one-page report.
#pragma once

#include "driver/compose.h"
#include "report/report.h"

namespace fact::driver {

report::Report summarize(const Environment& environment, const Settings& settings,
                         const Discovered& found, const Realizations& realizations,
                         const Plan& plan);

// Fills in which of the model's kernels were verified and are in the package, and what they gained.
void credit_agent(report::Report& report);

}  // namespace fact::driver
