#include "torch/precision.h"

#include <ATen/Context.h>

#include <algorithm>

#include "support/result.h"

namespace fact::exec {

namespace {

bool claims_tf32(const ir::Expr& expr) {
    return std::visit(
        overloaded{
            [](const one_of<ir::Product, ir::Attention> auto& n) {
                return n.precision == ir::Precision::tf32;
            },
            [](const one_of<ir::Param, ir::Literal, ir::Index, ir::Extent, ir::Unary, ir::Binary,
                            ir::Select, ir::Cast, ir::Permute, ir::Expand, ir::View, ir::Flip,
                            ir::Window, ir::Reduce, ir::Scan, ir::LogSumExp> auto&) {
                return false;
            },
        },
        expr.node);
}

}  // namespace

void set_precision(const TorchPrecision& precision) {
    auto& context = at::globalContext();
    context.setAllowTF32CuBLAS(precision.tf32.products);
    context.setAllowTF32CuDNN(precision.tf32.convolutions);
    context.setAllowBF16ReductionCuBLAS(precision.reduced_bf16_sums);
    context.setAllowFP16ReductionCuBLAS(precision.reduced_fp16_sums);
    context.setAllowFP16AccumulationCuBLAS(precision.fp16_accumulation);
}

TorchPrecision reference_precision(const TorchPrecision& user_settings, const ir::Kernel& text) {
    TorchPrecision reference;
    reference.tf32 = std::ranges::any_of(text.exprs, claims_tf32) ? user_settings.tf32 : Tf32{};
    reference.reduced_bf16_sums = reference.reduced_fp16_sums = false;
    return reference;
}

}  // namespace fact::exec
