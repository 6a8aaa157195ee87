// Whether calibration's kernels did the work they are timed for.
#pragma once

#include <string>
#include <string_view>

#include "target/dtype.h"

namespace fact::calibrate {

// The first bytes that a write stream leaves: each group of 16 bytes has its number four times.
std::string counted_up(std::size_t bytes);

// Compares the first results of a product's first row with sums on the host: x is that row of the
// first operand, w the rows of the second that belong to y. Says which result is wrong; "" if all
// are right.
std::string wrong_products(std::string_view x, std::string_view w, std::string_view y, DType dtype);

}  // namespace fact::calibrate
