// Compiles for families that come later while an earlier one is measured.
#pragma once

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tune/realize.h"

namespace fact::tune {

// The kernels that a search for the pattern compiles first; none if the registry has the result.
std::vector<jit::Unit> first_units(const match::Pattern& pattern, const RealizeOptions& options);

// Compiles units into the options' store until all are done or this object is destroyed.
class CompileAhead {
  public:
    CompileAhead(std::vector<jit::Unit> units, const RealizeOptions& options);

    // Whether the store lacked the artifact with that key when this object was made, so that no
    // earlier run compiled it.
    bool is_new(const std::string& key) const { return new_.contains(key); }

  private:
    std::set<std::string> new_;
    std::jthread thread_;
};

}  // namespace fact::tune
