// torch's scaled_dot_product_attention as a pattern of its own.
#pragma once

#include "match/pattern.h"
#include "match/region.h"
#include "support/result.h"
#include "target/gpu_spec.h"

namespace fact::match {

bool is_attention(const graph::Node& node);

// The node and the permutes of its operands that nobody else needs. An Error says why it is left.
struct AttentionPattern {
    std::vector<graph::NodeId> nodes;
    Pattern pattern;
};
Result<AttentionPattern> attention_pattern(const graph::Graph& graph, const Facts& facts,
                                           graph::NodeId node, const Options& options,
                                           const GpuSpec& gpu);

}  // namespace fact::match
