// Compiles for families that come later while an earlier one is measured.
#pragma once

#include <thread>
#include <vector>

#include "tune/realize.h"

namespace fact::tune {

// The kernels that a search for the pattern compiles first; none where the registry has the answer.
std::vector<jit::Unit> first_units(const match::Pattern& pattern, const RealizeOptions& options);

// Compiles units into the options' store until all are done, or this goes.
class CompileAhead {
  public:
    CompileAhead(std::vector<jit::Unit> units, const RealizeOptions& options);

  private:
    std::jthread thread_;
};

}  // namespace fact::tune
