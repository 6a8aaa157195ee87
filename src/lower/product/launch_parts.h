// What the launch records of all product skeletons say the same way.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/kernel.h"
#include "lower/product/product_form.h"
#include "schedule/schedule.h"
#include "target/launch_record.h"

namespace fact::lower {

// Where the product's extents are found among the bound tensors.
struct ProductDims {
    std::vector<DimOf> m, n, k, batch;        // `batch`: all of it together
    std::vector<std::vector<DimOf>> batches;  // each of its dimensions, ProductForm::num_batches()
};
ProductDims product_dims(const ir::Kernel& kernel, const ProductForm& form);

// `Extents` and `Finish` as the kernel takes them: the functor's members one after another.
StructParam extents_param(const ProductDims& dims);
StructParam functor_param(const ProductForm& form);
// `WalkOrder`: numbers of the schedule that no code depends on.
StructParam order_param(const schedule::Schedule& schedule);

// What the product is computed in: "bf16", "tf32", or `split` where operands are split ("f16x3").
std::string precision_name(const schedule::Problem& problem, std::string_view split);

// The product's entry in the cubin.
std::string product_entry(const ir::Kernel& kernel);

}  // namespace fact::lower
