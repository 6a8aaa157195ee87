// From a region to a pattern: the kernel's text, what binds to it, and what it costs.
#pragma once

#include "match/patterns/pattern.h"
#include "match/regions/region.h"
#include "match/text/write_kernel.h"
#include "support/result.h"
#include "target/gpu_spec.h"

namespace fact::match {

// The region as a pattern, whose id is the kernel's name until discovery assigns one. An Error says
// why the region cannot be a pattern.
Result<Pattern> write_pattern(const graph::Graph& graph, const Facts& facts, const Region& region,
                              const Options& options, const GpuSpec& gpu);

// The same for a region whose kernel has been written.
Result<Pattern> pattern_of(const graph::Graph& graph, const Region& region, const Layout& layout,
                           const WrittenKernel& written, const Options& options,
                           const GpuSpec& gpu);

// A pattern with everything that follows from its nodes and its kernel; the caller sets rule,
// problem, cost and where, and then calls set_priority_and_family.
Pattern assemble(const graph::Graph& graph, const std::vector<graph::NodeId>& nodes,
                 const std::vector<graph::ValueId>& outputs, const WrittenKernel& written);
// One pattern of a family is proved for all of them, so the family depends on the operators and not
// only on the text.
void set_priority_and_family(const graph::Graph& graph, Pattern& pattern);

}  // namespace fact::match
