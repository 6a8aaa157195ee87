// Packages of a module timed in turns by fact.ablate; earlier times are reused.
#pragma once

#include <string>
#include <vector>

#include "driver/compose.h"
#include "support/times.h"

namespace fact::driver {

struct TrialTimes {
    Times eager;
    std::vector<Times> trials;  // in the order of the packages
    std::string how;            // where the times come from
    bool earlier = false;       // from an earlier run
};

class TrialBench {
  public:
    // `module` identifies what the module was built from, so that other runs can reuse the times;
    // if it is "", the times stay in the run folder. `brief`: few runs.
    TrialBench(const Environment& environment, const RunFolder& run, const Settings& settings,
               const Discovered& found, const Realizations& realizations, std::string module,
               bool brief = false)
        : environment_(environment),
          run_(run),
          settings_(settings),
          found_(found),
          realizations_(realizations),
          module_(std::move(module)),
          brief_(brief) {}

    // The times of packages with these patterns; the run folder stores them under `name`.
    Result<TrialTimes> times(const std::string& name,
                             const std::vector<std::vector<const match::Pattern*>>& trials) const;

  private:
    Result<std::string> measured(const std::vector<compose::Package>& packages) const;

    const Environment& environment_;
    const RunFolder& run_;
    const Settings& settings_;
    const Discovered& found_;
    const Realizations& realizations_;
    std::string module_;
    bool brief_;
};

}  // namespace fact::driver
