// The launch record of a product: how its tensors become tensor maps, pointers and extents.
#pragma once

#include "ir/kernel.h"
#include "lower/product/product_form.h"
#include "lower/product/row_statistics.h"
#include "schedule/schedule.h"
#include "target/launch_record.h"

namespace fact::lower::sm90 {

// `schedule.stages` must not be 0; `statistics` may be nullptr.
LaunchRecord product_record(const ir::Kernel& kernel, const ProductForm& form,
                            const schedule::Schedule& schedule, const schedule::Problem& problem,
                            const RowStatistics* statistics);

// The names of the passes over the second operand of an f32 product: one finds the largest number
// of each row if operands are split, the other writes the row's f16 parts.
std::string maximum_entry(const ir::Kernel& kernel);
std::string prepare_entry(const ir::Kernel& kernel);

}  // namespace fact::lower::sm90
