#include "lower/product/launch_parts.h"

#include "lower/record/record_parts.h"

namespace fact::lower {

ProductDims product_dims(const ir::Kernel& kernel, const ProductForm& form) {
    const int output = static_cast<int>(kernel.params.size());
    ProductDims dims;
    // Windows have no dimension that is the product's: the output and the other operand have.
    dims.m = {form.a.windows ? DimOf{output, form.output.m} : DimOf{form.a.param, form.a.outer}};
    dims.n = {form.b.windows ? DimOf{output, form.output.n} : DimOf{form.b.param, form.b.outer}};
    dims.k = {form.a.windows ? DimOf{form.b.param, form.b.k} : DimOf{form.a.param, form.a.k}};
    dims.each_batch_dim.resize(form.num_batch_dims());
    for (std::size_t i = 0; i < form.batch.size(); ++i) {
        dims.each_batch_dim[i] = {{output, form.output.batch[i]}};
        dims.batch.push_back({output, form.output.batch[i]});
    }
    return dims;
}

StructParam extents_param(const ProductDims& dims, const ExtentField& depth) {
    StructBuilder extents;
    for (const auto& of : {dims.m, dims.n}) extents.add(ExtentField{of});
    extents.add(depth);
    for (const auto& of : dims.each_batch_dim) extents.add(ExtentField{of});
    return extents.finish();
}

StructParam order_param(const schedule::Schedule& schedule) {
    StructBuilder order;
    // RasterAlong in tiles.cuh: 1 is M, 2 is N.
    order.add(ExtentField{{}, schedule.raster == schedule::Raster::m ? 1 : 2});
    order.add(ExtentField{{}, schedule.swizzle});
    return order.finish();
}

StructParam functor_param(const ProductForm& form) {
    StructBuilder members;
    for (std::size_t i = 0; i < form.extras.size(); ++i) {
        if (static_cast<int>(i) == form.staged) continue;
        const EpilogueForm& extra = form.extras[i];
        members.add(PointerField{extra.tensor});
        for (const int dim : {extra.m, extra.n}) members.add(StrideField{extra.tensor, dim});
        for (const int dim : extra.batch) members.add(StrideField{extra.tensor, dim});
    }
    return members.finish();
}

std::string precision_name(const schedule::Problem& problem, std::string_view split_name) {
    if (problem.operands != DType::f32) return std::string(info(problem.operands).name);
    return std::string(problem.split ? split_name : "tf32");
}

// The suffix avoids collisions with names in the skeletons.
std::string product_entry(const ir::Kernel& kernel) {
    return kernel.name + "_kernel";
}

}  // namespace fact::lower
