// The launch record of a product: how its tensors become tensor maps, pointers and extents.
#pragma once

#include "ir/kernel.h"
#include "lower/product/product_form.h"
#include "schedule/schedule.h"
#include "target/launch_record.h"

namespace fact::lower::sm90 {

// `schedule` has its number of stages settled.
LaunchRecord product_record(const ir::Kernel& kernel, const ProductForm& form,
                            const schedule::Schedule& schedule, const schedule::Problem& problem);

// The entry of the pass that splits the second operand of an f32 product.
std::string prepare_entry(const ir::Kernel& kernel);

}  // namespace fact::lower::sm90
