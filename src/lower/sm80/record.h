// The launch record of a product: plain pointers, strides and extents, and the alignment that its
// accesses need.
#pragma once

#include <string_view>
#include <vector>

#include "ir/kernel.h"
#include "lower/product/product_form.h"
#include "lower/sm80/access.h"
#include "schedule/schedule.h"
#include "target/launch_record.h"

namespace fact::lower::sm80 {

// A pointer and its strides, those of the matrix first: Source and Destination of kernels/sm80.
StructParam strided(int tensor, int rows, int columns, const std::vector<int>& batch);

// `schedule.stages` must not be 0.
LaunchRecord product_record(const ir::Kernel& kernel, const ProductForm& form,
                            const CopyBytes& copies, const schedule::Schedule& schedule,
                            const schedule::Problem& problem, std::string_view arch);

}  // namespace fact::lower::sm80
