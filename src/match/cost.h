// What a region costs fused, and as the operators it is made of.
#pragma once

#include "match/layout.h"
#include "match/pattern.h"
#include "match/region.h"
#include "target/gpu_spec.h"

namespace fact::match {

Cost cost_of(const graph::Graph& graph, const Region& region, const Layout& layout,
             const Options& options, const GpuSpec& gpu);

}  // namespace fact::match
