// Attention as a pattern of its own.
#pragma once

#include "match/attention/write.h"

namespace fact::match {

// The pattern of torch's operator, or of the chain that begins with a product; the latter only
// where a skeleton holds it. An Error says why it is left, and is empty where there is no chain.
Result<AttentionPattern> attention_pattern(const graph::Graph& graph, const Facts& facts,
                                           KnownValues& known, graph::NodeId node,
                                           const Options& options, const GpuSpec& gpu);

}  // namespace fact::match
