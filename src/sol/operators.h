// What kind of work torch's operators are: one table by name, whatever the overload.
#pragma once

#include <string_view>

#include "graph/graph.h"

namespace fact::sol {

enum class Family {
    nothing,    // no tensor comes out, or one that is never written
    view,       // looks at its argument's memory
    product,    // matrix products and convolutions
    attention,  // scaled_dot_product_attention: two products and a softmax
    pointwise,  // casts and copies too
    reduction,  // sums, extrema, pooling
    softmax,    //
    norm,       //
    gather,     // reads of its first tensor only what comes out
    scatter,    // in place in eager mode: writes what its last tensor brings, reads the rest not
    fill,       // reads nothing
    unknown,    // counted by the bytes of its tensors alone
};

std::string_view name(Family family);

struct OperatorFacts {
    Family family = Family::unknown;
    // Of each element that comes in (reductions) or out (all others); products have their own.
    double flops_per_element = 0;
};

// By the name alone: whether a view had to copy is work_of's to find out.
OperatorFacts facts_of(const graph::Node& node);

}  // namespace fact::sol
