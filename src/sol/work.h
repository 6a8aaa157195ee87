// The work of single operators of a graph: what they compute and the least they move.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"
#include "graph/operators.h"
#include "sol/bound.h"
#include "target/torch_precision.h"

namespace fact::sol {

// Bytes of a tensor that exist in memory: broadcast dimensions count once, windows that overlap by
// what they cover.
double stored_bytes(const graph::TensorType& type);

// What an operator moves of one value.
struct Access {
    graph::ValueId value{};
    double bytes = 0;
};

struct NodeWork {
    graph::Family family = graph::Family::nothing;
    double flops = 0;
    std::vector<Access> reads, writes;      // a value read twice stands here once
    std::optional<DType> product_operands;  // set where products are computed
    bool convolution = false;               // torch has settings of its own for those
    bool only_bytes = false;                // nothing is known of its arithmetic

    double bytes() const;
};

// An operator run on its own. Views move nothing, but those that had to copy do.
NodeWork work_of(const graph::Graph& graph, const graph::Node& node);

// How many scores are seen: a causal row i sees columns 0 to i; with a window those less than it
// away from i.
double seen_scores(double rows, double columns, bool causal, std::optional<std::int64_t> window);

// Scaled dot products, of what is seen: of long keys the first are read.
struct AttentionWork {
    double flops = 0;      // of both products
    double keys_read = 1;  // the part of keys and values anybody looks at
};
AttentionWork attention_work(const graph::TensorType& q, const graph::TensorType& k,
                             const graph::TensorType& v, bool causal,
                             std::optional<std::int64_t> window = {});

// As torch would run it (its own precision), or as a kernel of ours.
enum class By { torch, kernel };
Work as_work(const NodeWork& work, By by, Tf32 allowed);

}  // namespace fact::sol
