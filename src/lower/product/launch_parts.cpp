#include "lower/product/launch_parts.h"

#include <algorithm>

#include "lower/record/extent_terms.h"
#include "lower/record/record_parts.h"

namespace fact::lower {

namespace {

// The extents that make up an operand's rows (or columns) if it is windows: places and images.
// Rows that overlap run over all pixels, but for the last along the outermost dimension.
std::vector<DimOf> places_of(const ir::Kernel& kernel, const OperandForm& operand) {
    std::vector<DimOf> all;
    const auto& windows = *operand.windows;
    const bool is_batch = std::ranges::any_of(operand.batch, [](int at) { return at >= 0; });
    if (windows.image >= 0 && !is_batch) all.push_back({operand.param, windows.image});
    for (auto place = windows.places.rbegin(); place != windows.places.rend(); ++place) {
        const bool runs = operand.overlaps() && place != windows.places.rbegin();
        const ExtentField extent = extent_of(kernel, {runs ? kernel[*place].window->of : *place});
        all.insert(all.end(), extent.dims.begin(), extent.dims.end());
    }
    return all;
}

}  // namespace

bool counts_places(const ir::Kernel& kernel, const ProductForm& form) {
    const OperandForm* windows = form.windows();
    return !windows || std::ranges::all_of(windows->windows->places, [&](ir::DimId place) {
        const ExtentField extent = extent_of(kernel, {place});
        return extent.dims.size() == 1 && extent.divisor_dims.empty() && extent.factor == 1 &&
               extent.divisor == 1;
    });
}

ProductDims product_dims(const ir::Kernel& kernel, const ProductForm& form) {
    const int output = static_cast<int>(kernel.params.size());
    ProductDims dims;
    // Windows have no dimension that is the product's: the output and the other operand have it. If
    // a scattered output does not have it either, windows are counted.
    const auto outer = [&](const OperandForm& operand, int in_output) -> std::vector<DimOf> {
        if (!operand.windows) return {{operand.param, operand.outer}};
        if (!form.output_has_dims()) return places_of(kernel, operand);
        return {{output, in_output}};
    };
    dims.m = outer(form.a, form.output.m);
    dims.n = outer(form.b, form.output.n);
    dims.k = {form.a.windows ? DimOf{form.b.param, form.b.k} : DimOf{form.a.param, form.a.k}};
    dims.each_batch_dim.resize(form.num_batch_dims());
    for (std::size_t i = 0; i < form.batch.size(); ++i) {
        DimOf batch{output, form.output.batch[i]};
        if (batch.dim < 0)
            for (const OperandForm* operand : {&form.a, &form.b})
                if (operand->batch[i] >= 0) batch = {operand->param, operand->batch[i]};
        dims.each_batch_dim[i] = {batch};
        dims.batch.push_back(batch);
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
