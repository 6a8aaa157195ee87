// Random programs with running sums and products, along any dimensions and either way.
#pragma once

#include "parts.h"

namespace fact::differential {

class Scans : protected Parts {
  protected:
    using Parts::Parts;
    void scans();
};

}  // namespace fact::differential
