// From a region to a pattern: the kernel's text, what binds to it, and what it costs.
#pragma once

#include "match/patterns/pattern.h"
#include "match/regions/region.h"
#include "match/text/write_kernel.h"
#include "support/result.h"
#include "target/gpu_spec.h"

namespace fact::match {

// The whole pattern, its id still the kernel's name. An Error says what keeps it from being one.
Result<Pattern> write_pattern(const graph::Graph& graph, const Facts& facts, const Region& region,
                              const Options& options, const GpuSpec& gpu);

// The same of a region whose kernel is written; nodes and outputs are the region's.
Result<Pattern> complete(const graph::Graph& graph, const Region& region, const Layout& layout,
                         const Written& written, const Options& options, const GpuSpec& gpu);

// What every pattern has from its nodes and its kernel; rule, problem, cost and place are left.
Pattern assemble(const graph::Graph& graph, const std::vector<graph::NodeId>& nodes,
                 const std::vector<graph::ValueId>& outputs, const Written& written);
// Priority and family follow from the rest. One of a family is proved for all of it, so that the
// same text for other operators is another family.
void finish(const graph::Graph& graph, Pattern& pattern);

}  // namespace fact::match
