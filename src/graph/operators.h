// What torch's operators are: one table by name, and by overload where that matters. Whoever asks
// what an operator does, asks here; what it means in the kernel language is in
// match/operators/pointwise.h and match/operators/rowwise.h, and what the arguments of products are
// called in graph/products.h.
#pragma once

#include <string_view>

#include "graph/graph.h"

namespace fact::graph {

enum class Family {
    nothing,  // no tensor comes out, or one that is never written
    view,  // looks at its argument's memory, at least where no copy is needed, and reads it alike
    product,    // matrix products and convolutions
    attention,  // scaled_dot_product_attention: two products and a softmax
    pointwise,  // casts and copies too
    reduction,  // sums, extrema, pooling
    loss,       // element by element, and then perhaps their sum or mean
    softmax,    //
    norm,       //
    gather,     // reads of its first tensor only what comes out
    scatter,    // in place in eager mode: writes what its last tensor brings, reads the rest not
    fill,       // reads nothing
    unknown,    // counted by the bytes of its tensors alone
};

std::string_view name(Family family);

// How the elements of the first tensor come out, where they come out as they are.
enum class Motion {
    none,     // they do not
    same,     // at the same coordinates
    reshape,  // in the same order, under other sizes
    permute,
    expand,
    slice,
    select,
    split,
};

// What a reduction, a softmax, a norm or a pool looks along.
enum class Along {
    nothing,
    dims,     // those of its argument `dim`, or all
    last,     // as many as `normalized_shape` has
    group,    // channels in groups, and everything behind them
    channel,  // everything behind a channel
    batch,    // everything but the channels, which are dimension 1
    running,  // nothing: its statistics come with it, one for each channel
    window,   // neighbours along the last one
    matrix,   // the last two, which it counts
};

struct OperatorFacts {
    Family family = Family::unknown;
    // Of each element that comes in (reductions, losses) or out (all others); products have their
    // own.
    double flops_per_element = 0;
    Motion motion = Motion::none;
    Along along = Along::nothing;
};

// By the name alone: whether a view had to copy is sol::work_of's to find out.
OperatorFacts facts_of(const Node& node);

// Whether it only keeps the elements in their order, under other sizes.
inline bool is_reshape(const Node& node) {
    return facts_of(node).motion == Motion::reshape;
}

// Whether it only changes where the elements are looked at, and moves no bytes.
inline bool is_plain_view(const Node& node) {
    const OperatorFacts facts = facts_of(node);
    return facts.family == Family::view && facts.motion != Motion::none;
}

}  // namespace fact::graph
