// Products of weights and activations that are contiguous along the columns, as a convolution of
// single pixels has them if its images come channels first.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/kernel.h"

namespace fact::lower {

// The same kernel, with such products of f32 numbers transposed: x.T @ w.T instead of w @ x. A
// kernel converts the first operand on its way through registers, and the second one in passes of
// their own: for weights these run once, for activations in every call. Only where the second
// operand is several times as large as the first, which weights are, and `extents` do not say that
// its rows are too short.
ir::Kernel with_weights_second(const ir::Kernel& kernel, const std::vector<std::int64_t>& extents);

}  // namespace fact::lower
