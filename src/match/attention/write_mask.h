// The expression of an attention mask that the kernel computes from smaller tensors.
#pragma once

#include <functional>
#include <vector>

#include "ir/kernel.h"
#include "match/attention/mask_source.h"
#include "support/result.h"

namespace fact::match {

// Expands one operand of an elementwise operator to all dimensions of the operands, in the order of
// `order`: the language requires that one operand has them all.
void expand_one_operand(ir::Kernel& kernel, std::vector<ir::ExprId>& operands,
                        const std::vector<ir::DimId>& order);

// The mask's value, computed from the tensors that `load` loads and rounded wherever torch rounds
// an intermediate value. `order` lists the dimensions of the scores. An Error says which tensor
// cannot be read.
Result<ir::ExprId> write_mask(const graph::Graph& graph, ir::Kernel& kernel,
                              const MaskSource& source, graph::ValueId mask,
                              const std::vector<ir::DimId>& order,
                              const std::function<Result<ir::ExprId>(const PlacedTensor&)>& load);

}  // namespace fact::match
