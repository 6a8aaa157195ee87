// Whether calibration's kernels did the work they are timed for.
#pragma once

#include <string>
#include <string_view>

#include "target/dtype.h"

namespace fact::calibrate {

// What a write stream leaves in its first bytes: each 16 hold their number four times.
std::string counted_up(std::size_t bytes);

// Compares the first results of a product's first row with sums on the host: x is a row, w the rows
// of the second operand that belong to y. Says which is wrong; "" when all are right.
std::string wrong_products(std::string_view x, std::string_view w, std::string_view y, DType dtype);

}  // namespace fact::calibrate
