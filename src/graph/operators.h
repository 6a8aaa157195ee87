// What torch's operators do: one table by name, and by overload if that matters. What they mean in
// the kernel language is in match/operators/pointwise.h and match/operators/rowwise.h, and what the
// arguments of products are called is in graph/products.h.
#pragma once

#include <string_view>

#include "graph/graph.h"

namespace fact::graph {

enum class OperatorKind {
    nothing,    // returns no tensor, or one that is left uninitialized
    view,       // its result uses its argument's memory, unless a copy is needed
    product,    // matrix products and convolutions
    attention,  // scaled_dot_product_attention: two products and a softmax
    pointwise,  // casts and copies too
    reduction,  // sums, extrema, pooling
    loss,       // pointwise, and then perhaps a sum or mean
    softmax,    // and log_softmax
    norm,       // of layers, groups, instances and batches, and RMS norm
    gather,     // reads only those elements of its first tensor that it returns
    scatter,    // puts the elements of its last tensor into its first; in place in eager mode
    fill,       // reads nothing
    unknown,    // its cost is that of reading and writing its tensors
};

std::string_view name(OperatorKind kind);

// How an operator that does not change the elements of its first tensor moves them.
enum class Motion {
    none,     // it changes them, or moves them in a way that is not listed here
    same,     // at the same coordinates
    reshape,  // in the same order, under other sizes
    permute,
    expand,
    slice,
    select,
    split,
};

// The dimensions along which a reduction, softmax, norm, pooling or running sum works.
enum class Along {
    nothing,
    dims,     // those of its argument `dim`, or all
    last,     // the last ones, as many as `normalized_shape` has
    group,    // the channels of a group, and all dimensions after the channels
    channel,  // all dimensions after the channels
    batch,    // all but the channels, which are dimension 1
    running,  // none: it gets its statistics as arguments, one per channel
    window,   // neighbours along the last dimension
    matrix,   // the last two, whose coordinates it compares (tril, triu)
    classes,  // the scores of a sample's classes: dimension 1, or the only one
    vectors,  // the last one, of vectors whose distance it takes
};

struct OperatorFacts {
    OperatorKind kind = OperatorKind::unknown;
    // Per element of the input (reductions, losses) or of the output (all others); 0 for products
    // and attention, whose flops depend on their shapes.
    double flops_per_element = 0;
    Motion motion = Motion::none;
    Along along = Along::nothing;
};

// By the name alone: whether a view has to copy is decided in sol::work_of.
OperatorFacts facts_of(const Node& node);

// Whether the operator keeps the elements in their order and only changes the sizes.
inline bool is_reshape(const Node& node) {
    return facts_of(node).motion == Motion::reshape;
}

// Whether the operator only changes the view of the elements, and moves no bytes.
inline bool is_plain_view(const Node& node) {
    const OperatorFacts facts = facts_of(node);
    return facts.kind == OperatorKind::view && facts.motion != Motion::none;
}

}  // namespace fact::graph
