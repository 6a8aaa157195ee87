// The parts of launch records that all product skeletons share.
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
    std::vector<DimOf> m, n, k, batch;  // `batch`: all batch dimensions together
    // Each batch dimension by itself: ProductForm::num_batch_dims() lists; empty: an extent of 1.
    std::vector<std::vector<DimOf>> each_batch_dim;
};
// Whether the number of windows along each dimension is that of a dimension of the images.
bool counts_places(const ir::Kernel& kernel, const ProductForm& form);
ProductDims product_dims(const ir::Kernel& kernel, const ProductForm& form);

// The kernel's parameters `Extents`, with what the kernel counts along K as `depth`, and `Finish`,
// which has the functor's members in order.
StructParam extents_param(const ProductDims& dims, const ExtentField& depth);
StructParam functor_param(const ProductForm& form);
// The kernel's parameter `WalkOrder`: raster and swizzle, the only entries of the schedule that are
// passed at launch instead of being compiled into the kernel.
StructParam order_param(const schedule::Schedule& schedule);

// The precision of the product: "bf16", "tf32", or `split_name` if its f32 operands are split
// ("f16x3").
std::string precision_name(const schedule::Problem& problem, std::string_view split_name);

// The name of the product's entry in the cubin.
std::string product_entry(const ir::Kernel& kernel);

}  // namespace fact::lower
