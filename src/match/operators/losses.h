// Torch's losses over tensors of one shape.
#pragma once

#include <string>
#include <vector>

#include "match/operators/translation.h"

namespace fact::match {

// As torch numbers the argument "reduction".
inline constexpr int kNotReduced = 0, kReducedToMean = 1, kReducedToSum = 2;
// Whether the node is a loss that is not reduced.
bool is_loss_of_each(const graph::Node& node);

// Each as RowwiseOp::build: the loss of the input and the argument "target".
using LossDims = std::vector<std::vector<ir::DimId>>;
std::vector<ir::ExprId> mse_loss(Translation& t, ir::ExprId x, const LossDims&);
std::vector<ir::ExprId> l1_loss(Translation& t, ir::ExprId x, const LossDims&);
std::vector<ir::ExprId> smooth_l1_loss(Translation& t, ir::ExprId x, const LossDims&);
std::vector<ir::ExprId> huber_loss(Translation& t, ir::ExprId x, const LossDims&);
std::vector<ir::ExprId> kl_div(Translation& t, ir::ExprId x, const LossDims&);
std::vector<ir::ExprId> bce_with_logits(Translation& t, ir::ExprId x, const LossDims&);

// Of vectors, which are the second group of dimensions.
std::vector<ir::ExprId> triplet_margin_loss(Translation& t, ir::ExprId x, const LossDims& dims);
std::vector<ir::ExprId> pairwise_distance(Translation& t, ir::ExprId x, const LossDims& dims);

// Why these functions cannot write the loss, or "".
std::string unsupported_loss(const graph::Graph& graph, const graph::Node& node);

}  // namespace fact::match
