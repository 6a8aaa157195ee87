// The work of single operators of a graph: their flops and the least bytes they move.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"
#include "graph/operators.h"
#include "sol/bound.h"
#include "target/torch_precision.h"

namespace fact::sol {

// Bytes of memory that a tensor covers: elements shared by broadcasting or overlapping windows
// count once.
double stored_bytes(const graph::TensorType& type);

// The bytes of one value that an operator reads or writes.
struct Access {
    graph::ValueId value{};
    double bytes = 0;
};

struct NodeWork {
    graph::OperatorKind kind = graph::OperatorKind::nothing;
    double flops = 0;
    std::vector<Access> reads, writes;      // a value read twice is listed once
    std::optional<DType> product_operands;  // set if it computes products
    bool convolution = false;               // torch has separate precision settings for these
    bool only_bytes = false;                // its flops are not known

    double bytes() const;
};

// The work of one operator run by itself. A view moves nothing unless it has to copy.
NodeWork work_of(const graph::Graph& graph, const graph::Node& node);

// How many scores are not masked: a causal row i sees columns 0 to i; with a window w, only columns
// less than w away from i.
double seen_scores(double rows, double columns, bool causal, std::optional<std::int64_t> window);

// Counts only scores that are not masked. Keys and values beyond the last visible column are not
// read.
struct AttentionWork {
    double flops = 0;      // of both products
    double keys_read = 1;  // the fraction of keys and values that is read
};
AttentionWork attention_work(const graph::TensorType& q, const graph::TensorType& k,
                             const graph::TensorType& v, bool causal,
                             std::optional<std::int64_t> window = {});

// Who computes an operator, which decides the unit: torch in its own precision, or our kernels.
enum class Runner { torch, kernel };
Work as_work(const NodeWork& work, Runner runner, Tf32 allowed);

}  // namespace fact::sol
