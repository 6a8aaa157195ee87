// One description of attention for both of its spellings in a graph: torch's operator (call.cpp),
// or a chain of product, mask, softmax and product (chain.cpp). Functions that move its operands
// and its result are in operands.cpp.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "graph/graph.h"
#include "match/attention/mask.h"
#include "match/attention/mask_source.h"
#include "match/axes/grouping.h"
#include "match/known/values.h"
#include "match/regions/region.h"
#include "support/result.h"

namespace fact::match {

// A tensor that is added to the scores, or that hides some of them, which then become `low`.
struct AttentionMask {
    PlacedTensor tensor;
    MaskMeaning meaning = MaskMeaning::add;
    double low = 0;
    std::optional<MaskSource> source = {};  // if the kernel computes the mask itself
};

// result = softmax(mask(cap(scale * q @ k.T))) @ v, the softmax over the columns of each row.
struct AttentionCall {
    graph::NodeId node{};               // torch's operator, or the softmax
    std::vector<std::int64_t> extents;  // of the axes
    Axis m = 0, n = 0, d = 0, e = 0;    // rows, columns, features of q and k, features of v
    PlacedTensor q, k, v, result;
    std::vector<AttentionMask> masks;
    Sight sight;                       // which columns a row may see
    bool empty_rows_are_zero = false;  // rows that see no column give 0, not NaN
    double scale = 1;
    std::optional<double> cap = {};  // scaled scores s become cap * tanh(s / cap)
    std::set<graph::NodeId> nodes;   // the operators that the kernel replaces
    // Operators that compute masks and factors. The kernel does their work itself, but they stay in
    // the graph if other nodes read their results.
    std::set<graph::NodeId> copied;

    std::int64_t extent(Axis axis) const { return extents[static_cast<std::size_t>(axis)]; }
    // The axes of q other than its rows and features, outermost first.
    std::vector<Axis> batch() const;
    // Splits off the inner `inner` elements of an axis as a new axis, and returns that.
    Axis split(Axis axis, std::int64_t inner);
};

bool is_attention(const graph::Node& node);

// Reads torch's operator. An Error says why it is left to torch.
Result<AttentionCall> read_attention(const graph::Graph& graph, KnownValues& known,
                                     graph::NodeId node);

// Reads the chain that begins with this product; nullopt if there is none, or if other nodes read
// its intermediate values.
std::optional<AttentionCall> read_attention_chain(const graph::Graph& graph, const Facts& facts,
                                                  KnownValues& known, graph::NodeId product);

// Reads each operand as it was before its permutes, if nothing else uses the permuted tensor. The
// permutes become nodes of the call.
void look_through_permutes(const graph::Graph& graph, const Facts& facts, AttentionCall& call);
// The same also for reshapes, copies, repeated heads and constant factors.
void look_through_movement(const graph::Graph& graph, const Facts& facts, AttentionCall& call);

// Lets the kernel compute each mask from the tensors that the mask is made of, if those are
// smaller. Returns whether there is such a mask.
bool compute_masks_in_kernel(const graph::Graph& graph, KnownValues& known, AttentionCall& call);

// Lets the kernel write what operators that only move data make of its result, so that they need
// not run: the result of the last copy. If there is no copy and a dimension of the result merges
// several axes, that of the first view in which no dimension does.
void move_result_forward(const graph::Graph& graph, const Facts& facts, AttentionCall& call);

}  // namespace fact::match
