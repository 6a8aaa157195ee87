// The same fused call with other extents.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/fused.h"
#include "ir/kernel.h"
#include "verify/extents.h"

namespace fact::verify {

// Every extent of a class of dimensions is a multiple of `before`; it becomes the same multiple of
// `now`.
struct Factor {
    std::int64_t before = 0, now = 0;
};
using Factors = std::map<int, Factor>;  // by class
// "128 -> 2, 3072 -> 96": the classes that change.
std::string note_of(const Factors& factors);

// Knows which extents of a call may change, and makes the call's graph with other ones.
class Resizable {
  public:
    // Extents that are literals in the kernel text cannot change. The call must outlive this.
    Resizable(const graph::FusedCall& call, const ir::Kernel& kernel);

    // The classes that may change, with `now` equal to `before`.
    const Factors& factors() const { return factors_; }
    // Whether some input or result of the call is contiguous along a dimension of the class.
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
// The call with extents that are no multiples of a tile, of at most about `max_products`
// multiplications: first the oddest, then with rows aligned to 8 elements, then with rows of their
// original length. A kernel refuses extents it does not support; extents that torch or the launcher
// rejects were a wrong guess. Empty if no extent may change.
std::vector<Resized> other_sizes(const graph::FusedCall& call, const ir::Kernel& kernel,
                                 double max_products);

}  // namespace fact::verify
