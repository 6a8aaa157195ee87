// Reductions and softmax over contiguous f64 rows, for the interpreter.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/kernel.h"

namespace fact::ir {

// One number a row of `length`; `rows` of them lie one after the other.
std::vector<double> reduce_rows(ReduceOp op, const std::vector<double>& values, std::int64_t rows,
                                std::int64_t length);

// Each row becomes e^(x - max) over its sum; a row of -inf alone becomes NaN, as in torch.
void softmax_rows(std::vector<double>& values, std::int64_t rows, std::int64_t length);

}  // namespace fact::ir
