// The same fused call over other extents.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/fused.h"
#include "ir/kernel.h"
#include "verify/extents.h"

namespace fact::verify {

// Every extent of a class of dimensions is a multiple of `before`, and changes with it to `now`.
struct Factor {
    std::int64_t before = 0, now = 0;
};
using Factors = std::map<int, Factor>;  // by class
// "128 -> 2, 3072 -> 96": those that change.
std::string note_of(const Factors& factors);

// Which extents of a call may change, and the call with others.
class Resizable {
  public:
    // Extents the kernel text writes as numbers cannot change. The call must outlive it.
    Resizable(const graph::FusedCall& call, const ir::Kernel& kernel);

    // The classes that may change, none of them changed.
    const Factors& factors() const { return factors_; }
    // Whether a class is contiguous in memory in some input or result of the call.
    bool innermost(int extent_class) const;
    graph::Graph with(const Factors& factors) const;

  private:
    const graph::FusedCall& call_;
    ExtentClasses classes_;
    Factors factors_;
};

struct Resized {
    graph::FusedCall call;
    std::string note;  // "2048 -> 333, 2048 -> 264", for the report
};
// The call over extents that divide no tile, of at most about `max_products` multiplications: the
// oddest first, then such whose rows stay aligned to 8 elements, then such whose rows keep their
// length. A kernel refuses what it cannot take; what torch or the launcher objects to was a wrong
// guess. Empty where no extent may change.
std::vector<Resized> other_sizes(const graph::FusedCall& call, const ir::Kernel& kernel,
                                 double max_products);

}  // namespace fact::verify
