// torch's precision settings, as the user's module leaves them: kernels follow them, and so do the
// results that kernels are compared with.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace fact {

// Which of torch's fp32 operators may round their operands to TF32's ten bits.
struct Tf32 {
    bool products = false, convolutions = false;

    constexpr Tf32(bool everywhere = false) : products(everywhere), convolutions(everywhere) {}
    constexpr Tf32(bool in_products, bool in_convolutions)
        : products(in_products), convolutions(in_convolutions) {}
    constexpr bool in(bool convolution) const { return convolution ? convolutions : products; }
    constexpr bool anywhere() const { return products || convolutions; }
    bool operator==(const Tf32&) const = default;
};

// The defaults are torch's.
struct TorchPrecision {
    Tf32 tf32{false, true};
    // Whether cuBLAS may add partial sums of 16-bit products in 16 bits (reduced_*_sums), or
    // accumulate fp16 products in fp16 throughout (fp16_accumulation).
    bool reduced_bf16_sums = true, reduced_fp16_sums = true, fp16_accumulation = false;
    bool operator==(const TorchPrecision&) const = default;
};

// "fp32 products in fp32, convolutions in TF32", and other settings that are not torch's defaults.
std::string describe(const TorchPrecision& precision);

nlohmann::ordered_json json_of(const TorchPrecision& precision);
// A setting that is missing gets torch's default. Throws SchemaError.
TorchPrecision torch_precision_from(const nlohmann::json& settings);

}  // namespace fact
