// From attention to a pattern: the kernel's text, what binds to it, and what it costs.
#pragma once

#include "match/attention/call.h"
#include "match/patterns/pattern.h"
#include "match/regions/region.h"
#include "support/result.h"
#include "target/gpu_spec.h"

namespace fact::match {

struct AttentionPattern {
    std::vector<graph::NodeId> nodes, copied;
    Pattern pattern;
    // Whether an attention skeleton computes the pattern, perhaps after a kernel that writes the
    // bias in another layout; if not, the text is expanded into products and a softmax.
    bool one_kernel = false;
};

// An Error says what the kernel language cannot express.
Result<AttentionPattern> write_attention(const graph::Graph& graph, const Facts& facts,
                                         const AttentionCall& call, const Options& options,
                                         const GpuSpec& gpu);

}  // namespace fact::match
