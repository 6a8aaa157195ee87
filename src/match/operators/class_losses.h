// Losses of scores for classes, whose target is the number of a class.
#pragma once

#include <string>
#include <vector>

#include "match/operators/translation.h"

namespace fact::match {

// Each as RowwiseOp::build; the second group of dimensions is the classes.
using ClassDims = std::vector<std::vector<ir::DimId>>;
std::vector<ir::ExprId> cross_entropy(Translation& t, ir::ExprId x, const ClassDims& dims);
std::vector<ir::ExprId> nll_loss(Translation& t, ir::ExprId x, const ClassDims& dims);

// The dimension of the classes among those of the scores.
std::size_t class_dim(const graph::Graph& graph, const graph::Node& node);

// Why these functions cannot write the loss, or "".
std::string unsupported_class_loss(const graph::Graph& graph, const graph::Node& node);

}  // namespace fact::match
