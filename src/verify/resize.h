// The same fused call with other extents.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/fused.h"
#include "ir/kernel.h"
#include "verify/extents.h"

namespace fact::verify {

// How the extents of one class of dimensions change: each is a multiple of `before` and becomes the
// same multiple of `now`.
struct Factor {
    std::int64_t before = 0, now = 0;
};
using Factors = std::map<int, Factor>;  // by class
// The classes that change, for the report: "128 -> 2, 3072 -> 96".
std::string note_of(const Factors& factors);

// Knows which extents of a call may change, and makes the call's graph with other extents.
class Resizable {
  public:
    // Extents that are literals in the kernel text cannot change. The call must outlive this.
    Resizable(const graph::FusedCall& call, const ir::Kernel& kernel);

    // The classes that may change, with `now` equal to `before`.
    const Factors& factors() const { return factors_; }
    // Whether some input or result of the call is contiguous along a dimension of the class.
    bool innermost(int extent_class) const;
    // The call's graph with these factors applied. Classes that are not among them do not change.
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
// The call with extents that are not multiples of a tile, in up to three versions: with odd extents
// everywhere, with row lengths that are multiples of 8, and with the original row lengths. Each
// takes about `max_products` multiplications at most. The caller skips versions that the kernel
// does not support or that torch rejects. Empty if no extent may change.
std::vector<Resized> other_sizes(const graph::FusedCall& call, const ir::Kernel& kernel,
                                 double max_products);

}  // namespace fact::verify
