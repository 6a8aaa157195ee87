// The launch record of a product: how its tensors become tensor maps, pointers and extents.
#pragma once

#include "ir/kernel.h"
#include "lower/product/product_form.h"
#include "lower/product/row_statistics.h"
#include "schedule/schedule.h"
#include "target/launch_record.h"

namespace fact::lower::sm90 {

// `schedule` has its number of stages settled; `statistics` may be nullptr.
LaunchRecord product_record(const ir::Kernel& kernel, const ProductForm& form,
                            const schedule::Schedule& schedule, const schedule::Problem& problem,
                            const RowStatistics* statistics);

// The entries of the passes over the second operand of an f32 product: what finds its rows' largest
// numbers, where it is split, and what prepares it.
std::string maximum_entry(const ir::Kernel& kernel);
std::string prepare_entry(const ir::Kernel& kernel);

}  // namespace fact::lower::sm90
