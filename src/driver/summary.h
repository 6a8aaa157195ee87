// The run's results gathered into the one-page report.
#pragma once

#include "driver/compose.h"
#include "report/report.h"

namespace fact::driver {

report::Report summarize(const Environment& environment, const Settings& settings,
                         const Discovered& found, const Realizations& realizations,
                         const Plan& plan);

}  // namespace fact::driver
