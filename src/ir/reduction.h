// Reductions, scans and softmax over contiguous f64 rows, for the interpreter.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/kernel.h"

namespace fact::ir {

// Returns one number per row; `values` are `rows` rows of `length`, one after another.
std::vector<double> reduce_rows(ReduceOp op, const std::vector<double>& values, std::int64_t rows,
                                std::int64_t length);

// Replaces each element of a row by its sum or product with all before it; backwards: all after it.
void scan_rows(ScanOp op, bool backwards, std::vector<double>& values, std::int64_t rows,
               std::int64_t length);

// Replaces each row by e^(x - max), divided by its sum; a row of only -inf becomes NaN, as in
// torch.
void softmax_rows(std::vector<double>& values, std::int64_t rows, std::int64_t length);

}  // namespace fact::ir
