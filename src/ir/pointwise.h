// The pointwise functions of functions.h in f64, over rows of numbers.
#pragma once

#include <cstdint>

#include "ir/functions.h"

namespace fact::ir {

// A row of numbers, or one number for all of its elements.
struct Row {
    const double* data = nullptr;
    std::int64_t step = 1;  // 0: one number
};

void apply(UnaryOp op, Row x, std::int64_t count, double* out);
void apply(BinaryOp op, Row a, Row b, std::int64_t count, double* out);
void select(Row condition, Row a, Row b, std::int64_t count, double* out);

}  // namespace fact::ir
