// Sums that one pass over a row can compute together with the sum or maximum they depend on.
#pragma once

#include "ir/kernel.h"

namespace fact::lower {

// Whether `id` is sum((x - sum(x) / n) * (x - sum(x) / n)), where `sum` is sum(x) over the same
// dimensions.
bool is_sum_of_squares(const ir::Kernel& kernel, ir::ExprId id, ir::ExprId sum);

// Whether `id` is sum(exp(x - max(x))), where `max` is max(x) over the same dimensions; logsumexp's
// maximum is 0 if it is infinite.
bool is_sum_of_exponentials(const ir::Kernel& kernel, ir::ExprId id, ir::ExprId max);

}  // namespace fact::lower
