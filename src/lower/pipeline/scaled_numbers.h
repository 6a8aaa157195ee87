// Convolutions in TF32's precision as products of f16 numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/kernel.h"

namespace fact::lower {

// The same kernel, with large products in TF32 whose second operand is windows of images as
// products of f16 numbers, which have as many bits after the point, half the bytes and twice the
// rate. Each image, and each row of the first operand, is divided by a power of two for f16's
// range; an image with an infinity becomes NaN. Images of so few channels that f16 would fill its
// lines with zeros stay as they are, and so does what is not known from `extents` to be large.
// Where the kernel computes the images and how large the numbers of each channel can be is known
// (magnitudes.h), nothing has to be found first: each channel is divided by a power of two, by
// which its weights are multiplied. Then small products, and those whose first operand is windows,
// are of f16 numbers too.
ir::Kernel with_scaled_numbers(const ir::Kernel& kernel, const std::vector<std::int64_t>& extents);

}  // namespace fact::lower
