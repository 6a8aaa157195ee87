#include "lower/pipeline/following_sums.h"

namespace fact::lower {

namespace {

using ir::BinaryOp;
using ir::ExprId;
using ir::ReduceOp;

template <class Node>
const Node* as(const ir::Kernel& kernel, ExprId id) {
    return std::get_if<Node>(&kernel[id].node);
}

// The reduction `id` if it is a sum over the same dimensions as the reduction `first`, which is of
// this kind; else nullptr.
const ir::Reduce* sum_after(const ir::Kernel& kernel, ExprId id, ExprId first, ReduceOp kind) {
    const auto* sum = as<ir::Reduce>(kernel, id);
    const auto& inner = std::get<ir::Reduce>(kernel[first].node);
    return sum && sum->op == ReduceOp::sum && inner.op == kind && sum->over == inner.over ? sum
                                                                                          : nullptr;
}

bool is_mean_of(const ir::Kernel& kernel, ExprId id, ExprId sum) {
    const auto* mean = as<ir::Binary>(kernel, id);
    return mean && mean->op == BinaryOp::div && mean->a == sum &&
           (as<ir::Extent>(kernel, mean->b) || as<ir::Literal>(kernel, mean->b));
}

bool is_maximum(const ir::Kernel& kernel, ExprId id, ExprId max) {
    if (id == max) return true;
    const auto* select = as<ir::Select>(kernel, id);
    return select && select->b == max && as<ir::Literal>(kernel, select->a);
}

}  // namespace

bool is_sum_of_squares(const ir::Kernel& kernel, ExprId id, ExprId sum) {
    const auto* outer = sum_after(kernel, id, sum, ReduceOp::sum);
    if (!outer) return false;
    const auto* square = as<ir::Binary>(kernel, outer->x);
    if (!square || square->op != BinaryOp::mul || square->a != square->b) return false;
    const auto* centered = as<ir::Binary>(kernel, square->a);
    return centered && centered->op == BinaryOp::sub &&
           centered->a == std::get<ir::Reduce>(kernel[sum].node).x &&
           is_mean_of(kernel, centered->b, sum);
}

bool is_sum_of_exponentials(const ir::Kernel& kernel, ExprId id, ExprId max) {
    const auto* outer = sum_after(kernel, id, max, ReduceOp::max);
    if (!outer) return false;
    const auto* power = as<ir::Unary>(kernel, outer->x);
    if (!power || power->op != ir::UnaryOp::exp) return false;
    const auto* below = as<ir::Binary>(kernel, power->x);
    return below && below->op == BinaryOp::sub &&
           below->a == std::get<ir::Reduce>(kernel[max].node).x &&
           is_maximum(kernel, below->b, max);
}

}  // namespace fact::lower
