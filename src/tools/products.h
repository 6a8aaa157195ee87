// The matrix products of a kernel, and what a call computes and moves at least.
#pragma once

#include <vector>

#include "ir/kernel.h"
#include "sol/bound.h"
#include "tools/extents.h"

namespace fact::tools {

struct ProductDims {
    ir::ExprId product{};
    ir::DimId m{}, n{}, k{};
    std::vector<ir::DimId> batch;
    DType operands = DType::bf16;
    ir::Precision precision = ir::Precision::exact;
};

// Those the outputs depend on, in the order of the text.
std::vector<ProductDims> products_of(const ir::Kernel& kernel);

double flops_of(const ProductDims& product, const Extents& extents);
sol::Unit unit_of(const ProductDims& product);

// Both products of an attention, as far as its rows see.
double flops_of(const ir::Kernel& kernel, const ir::Attention& attention, const Extents& extents);
// What the tensor cores have to do, one item a product or attention; no bytes in it.
std::vector<sol::Work> arithmetic_of(const ir::Kernel& kernel, const Extents& extents);

// The least time of one kernel that does it all: traffic and arithmetic overlap, products do not.
sol::Bound least_time(const ir::Kernel& kernel, const Extents& extents, const GpuSpec& gpu);

// Every tensor that matters once, whole.
struct Traffic {
    double read = 0, written = 0;
};
Traffic least_traffic(const ir::Kernel& kernel, const Extents& extents);
double bytes_of(const ir::Tensor& tensor, const Extents& extents);
std::string bytes_text(double bytes);  // "33.6 MB"

}  // namespace fact::tools
