// Convolutions of few terms, such as those of images with three colours, without a product.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/kernel.h"

namespace fact::lower {

// The same kernel, with f32 products of weights and windows of images whose results have few terms
// each as sums, for row kernels (lower/rows/strips.h, lower/rows/patches.h): most of what a product
// multiplies would be zeros that fill up its lines. What is not known from `extents` to be few
// stays a product. `patches`: also those in TF32 that might be products of patches.
ir::Kernel with_sums_of_few_terms(const ir::Kernel& kernel,
                                  const std::vector<std::int64_t>& extents, bool patches);

}  // namespace fact::lower
