#include "target/torch_precision.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "support/json_fields.h"

namespace fact {

std::string describe(const TorchPrecision& precision) {
    const auto fp32 = [](bool tf32) { return tf32 ? "TF32" : "fp32"; };
    auto text = fmt::format("fp32 products in {}, convolutions in {}",
                            fp32(precision.tf32.products), fp32(precision.tf32.convolutions));
    if (!precision.reduced_bf16_sums) text += ", no reduced sums in bf16";
    if (!precision.reduced_fp16_sums) text += ", no reduced sums in fp16";
    if (precision.fp16_accumulation) text += ", fp16 accumulated in fp16";
    return text;
}

nlohmann::ordered_json json_of(const TorchPrecision& precision) {
    return {{"tf32_products", precision.tf32.products},
            {"tf32_convolutions", precision.tf32.convolutions},
            {"reduced_bf16_sums", precision.reduced_bf16_sums},
            {"reduced_fp16_sums", precision.reduced_fp16_sums},
            {"fp16_accumulation", precision.fp16_accumulation}};
}

TorchPrecision torch_precision_from(const nlohmann::json& settings) {
    TorchPrecision out;
    const auto read = [&](const char* name, bool& value) {
        value = get_bool(settings, name, value);
    };
    read("tf32_products", out.tf32.products);
    read("tf32_convolutions", out.tf32.convolutions);
    read("reduced_bf16_sums", out.reduced_bf16_sums);
    read("reduced_fp16_sums", out.reduced_fp16_sums);
    read("fp16_accumulation", out.fp16_accumulation);
    return out;
}

}  // namespace fact
