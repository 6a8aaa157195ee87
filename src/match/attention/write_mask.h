// A mask that the kernel makes of its parts, as an expression.
#pragma once

#include <functional>
#include <vector>

#include "ir/kernel.h"
#include "match/attention/mask_source.h"
#include "support/result.h"

namespace fact::match {

// Operands of one elementwise operator, of which one then has all dimensions; `order` names those
// dimensions in the order they get.
void bring_together(ir::Kernel& kernel, std::vector<ir::ExprId>& operands,
                    const std::vector<ir::DimId>& order);

// The mask's value out of what it reads, which `load` gives. Where torch rounds what it computes on
// the way, so does the expression. An Error says what cannot be read.
Result<ir::ExprId> write_mask(const graph::Graph& graph, ir::Kernel& kernel,
                              const MaskSource& source, graph::ValueId mask,
                              const std::vector<ir::DimId>& order,
                              const std::function<Result<ir::ExprId>(const Placed&)>& load);

}  // namespace fact::match
