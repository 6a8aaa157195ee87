#include "torch/precision.h"

#include <ATen/Context.h>

#include <algorithm>

namespace fact::exec {

namespace {

bool claims_tf32(const ir::Expr& expr) {
    if (const auto* product = std::get_if<ir::Product>(&expr.node))
        return product->precision == ir::Precision::tf32;
    const auto* attention = std::get_if<ir::Attention>(&expr.node);
    return attention && attention->precision == ir::Precision::tf32;
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

TorchPrecision reference_precision(const TorchPrecision& users, const ir::Kernel& text) {
    TorchPrecision reference;
    reference.tf32 = std::ranges::any_of(text.exprs, claims_tf32) ? users.tf32 : Tf32{};
    reference.reduced_bf16_sums = reference.reduced_fp16_sums = false;
    return reference;
}

}  // namespace fact::exec
