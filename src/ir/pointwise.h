// The pointwise functions of functions.h in f64, over rows of numbers.
#pragma once

#include <cstdint>

#include "ir/functions.h"

namespace fact::ir {

// `count` numbers that are `step` apart or, if `step` is 0, one number that is used `count` times.
struct Row {
    const double* data = nullptr;
    std::int64_t step = 1;
};

void apply(UnaryOp op, Row x, std::int64_t count, double* out);
void apply(BinaryOp op, Row a, Row b, std::int64_t count, double* out);
void select(Row condition, Row a, Row b, std::int64_t count, double* out);

}  // namespace fact::ir
