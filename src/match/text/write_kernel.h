// From a region to the kernel that computes it, and what binds to its tensors.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/fused.h"
#include "ir/kernel.h"
#include "match/axes/layout.h"
#include "match/regions/region.h"
#include "support/result.h"

namespace fact::match {

// A kernel and the graph values that its tensors stand for.
struct WrittenKernel {
    ir::Kernel kernel;
    std::map<std::string, std::int64_t> extents;  // of its dimensions
    std::vector<graph::Binding> params, results;
};

// An Error says what the kernel language cannot address.
Result<Layout> layout_of(const graph::Graph& graph, const Region& region);

// An Error says why the region cannot be one kernel.
Result<WrittenKernel> write_kernel(const graph::Graph& graph, const Facts& facts,
                                   const Region& region, const Layout& layout, bool allow_tf32);

// The binding of the kernel's tensor `name` to its graph value.
graph::Binding bind(const graph::Graph& graph, const Facts& facts, const std::string& name,
                    const KernelTensor& tensor);

}  // namespace fact::match
