// Packages of a module timed in turns by fact.ablate; what was timed before is known.
#pragma once

#include <string>
#include <vector>

#include "driver/compose.h"
#include "support/times.h"

namespace fact::driver {

struct TrialTimes {
    Times eager;
    std::vector<Times> trials;  // in the order of the packages
    std::string how;            // where the times are from
    bool earlier = false;       // an earlier run
};

class TrialBench {
  public:
    // `module`: what the module was built from, so that other runs of it know the times; "" keeps
    // them to the run folder.
    TrialBench(const Environment& environment, const RunFolder& run, const Settings& settings,
               const Discovered& found, const Realizations& realizations, std::string module)
        : environment_(environment),
          run_(run),
          settings_(settings),
          found_(found),
          realizations_(realizations),
          module_(std::move(module)) {}

    // Of packages with these patterns; the run folder keeps them under `name`.
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
};

}  // namespace fact::driver
