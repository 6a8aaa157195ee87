// The matrix products of a kernel, and the least work and traffic of a call.
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
    DType operands = DType::bf16;  // the element type of both
    ir::Precision precision = ir::Precision::exact;
};

// The products that the outputs depend on, in the order of the text.
std::vector<ProductDims> products_of(const ir::Kernel& kernel);

double flops_of(const ProductDims& product, const Extents& extents);
sol::Unit unit_of(const ProductDims& product);

// Both products of an attention, for the scores that its causal mask and its window leave visible.
double flops_of(const ir::Kernel& kernel, const ir::Attention& attention, const Extents& extents);
// The work of the tensor cores, one item per product or attention, without memory traffic.
std::vector<sol::Work> arithmetic_of(const ir::Kernel& kernel, const Extents& extents);

// The least time of a single kernel: traffic and arithmetic overlap, products do not.
sol::Bound least_time(const ir::Kernel& kernel, const Extents& extents, const GpuSpec& gpu);

// Bytes if every tensor that is used is read or written exactly once.
struct Traffic {
    double read = 0, written = 0;
};
Traffic least_traffic(const ir::Kernel& kernel, const Extents& extents);
double bytes_of(const ir::Tensor& tensor, const Extents& extents);
std::string bytes_text(double bytes);  // "33.6 MB"

}  // namespace fact::tools
