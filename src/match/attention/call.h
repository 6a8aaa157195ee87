// Attention as one thing, however the graph spells it: torch's operator, or scores, mask, softmax
// and mix written out.
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

// A tensor that is added to the scores, or that hides some: then `low` takes their place.
struct AttentionMask {
    Placed tensor;
    MaskMeaning meaning = MaskMeaning::add;
    double low = 0;
    std::optional<MaskSource> source = {};  // what the kernel makes it of
};

// result = softmax(scale * q @ k.T, capped, masked, over the columns) @ v, of what rows see.
struct AttentionCall {
    graph::NodeId node{};               // torch's operator, or the softmax
    std::vector<std::int64_t> extents;  // of the axes
    Axis m = 0, n = 0, d = 0, e = 0;    // rows, columns, features of q and k, features of v
    Placed q, k, v, result;
    std::vector<AttentionMask> masks;
    Sight sight;
    bool zero_unseen = false;  // rows that see nothing are 0, not NaN
    double scale = 1;
    std::optional<double> cap = {};  // scaled scores s become cap * tanh(s / cap)
    std::set<graph::NodeId> nodes;   // what the kernel computes instead
    std::set<graph::NodeId> copied;  // what makes a mask that the kernel knows by itself

    std::int64_t extent(Axis axis) const { return extents[static_cast<std::size_t>(axis)]; }
    // The axes that q has beside its rows and features, outer first.
    std::vector<Axis> batch() const;
    // Makes the inner part of an axis an axis of its own, and returns it.
    Axis split(Axis axis, std::int64_t inner);
};

bool is_attention(const graph::Node& node);

// An Error says why torch's operator is left to it.
Result<AttentionCall> read_attention(const graph::Graph& graph, KnownValues& known,
                                     graph::NodeId node);

// The chain that begins with this product; nothing where it is none, or where others read what is
// inside.
std::optional<AttentionCall> read_attention_chain(const graph::Graph& graph, const Facts& facts,
                                                  KnownValues& known, graph::NodeId product);

// Looks through permutes of the operands that nobody else needs, and takes them along.
void read_permuted(const graph::Graph& graph, const Facts& facts, AttentionCall& call);
// Through reshapes, copies, repeated heads and factors too: the kernel then reads what they read.
void read_as_it_lies(const graph::Graph& graph, const Facts& facts, AttentionCall& call);

// Makes the kernel read what masks are made of, where that is less. Returns whether there are any.
bool take_masks_apart(const graph::Graph& graph, KnownValues& known, AttentionCall& call);

// Makes the copy that follows the result the result, or else where its dimensions first come apart:
// the kernel writes what the next operator reads.
void write_where_wanted(const graph::Graph& graph, const Facts& facts, AttentionCall& call);

}  // namespace fact::match
