// Torch's losses over two tensors of one shape, reduced to one number.
#pragma once

#include <string>
#include <vector>

#include "match/operators/translation.h"

namespace fact::match {

// Each as RowwiseOp::build: the loss of the input and the argument "target".
using LossDims = std::vector<std::vector<ir::DimId>>;
std::vector<ir::ExprId> mse_loss(Translation& t, ir::ExprId x, const LossDims&);
std::vector<ir::ExprId> l1_loss(Translation& t, ir::ExprId x, const LossDims&);
std::vector<ir::ExprId> smooth_l1_loss(Translation& t, ir::ExprId x, const LossDims&);
std::vector<ir::ExprId> huber_loss(Translation& t, ir::ExprId x, const LossDims&);
std::vector<ir::ExprId> kl_div(Translation& t, ir::ExprId x, const LossDims&);
std::vector<ir::ExprId> bce_with_logits(Translation& t, ir::ExprId x, const LossDims&);

// Why these functions cannot write the loss, or "".
std::string unsupported_loss(const graph::Node& node);

}  // namespace fact::match
